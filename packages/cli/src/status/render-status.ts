// The status of a server for people. Facts first, then what is wrong; nothing is said about what is
// as it should be. Every text of the server is made printable: it may be anyone's.
import type { ServerStatus } from '@syncline/server';
import { renderColumns } from '../columns.js';
import { formatDuration } from '../duration.js';
import type { Paint } from '../paint.js';
import { printable } from '../printable.js';

export function renderStatus(status: ServerStatus, paint: Paint): string {
  const state = status.isReady ? paint('green', 'ready') : paint('red', 'not ready');
  const name = paint('bold', `node ${status.nodeId}`);
  const head = `${name} of ${printable(status.clusterId)}  ${state}\n\n`;
  const facts = [
    ['version', printable(`${status.version} on Node ${status.nodeVersion}`)],
    ['up', formatDuration(status.uptimeMs)],
    ['data', printable(status.dataDir ?? 'in memory, gone at the end')],
    ...status.listeners.map(({ listener, host, port }) => [
      printable(listener),
      printable(`${host}:${port}`),
    ]),
  ];
  return [
    head,
    renderColumns(facts, '  '),
    renderSlices(status, paint),
    renderPeers(status, paint),
    renderProblems(status, paint),
  ].join('');
}

function renderSlices({ slices }: ServerStatus, paint: Paint): string {
  if (slices.length === 0) return '\nNo slice is enabled: this server keeps no state yet.\n';
  const rows = slices.map(({ name, health, storage, details }) => [
    printable(name),
    health.kind === 'ready' ? paint('green', 'ready') : paint('red', printable(health.kind)),
    storage === undefined ? '' : printable(`storage ${storage.kind}`),
    Object.entries(details)
      .filter(([, value]) => typeof value !== 'object') // the whole of it is in --json
      .map(([label, value]) => printable(`${label} ${String(value)}`))
      .join(', '),
  ]);
  return `\n${renderColumns(rows, '  ')}`;
}

/** Who is behind, by how much and since when. */
function renderPeers({ peers, startedAtMs, uptimeMs }: ServerStatus, paint: Paint): string {
  if (peers.length === 0) return '';
  const nowMs = startedAtMs + uptimeMs;
  const rows = peers.map((peer) => [
    `peer ${peer.nodeId}`,
    paint(peer.state === 'connected' ? 'green' : 'red', printable(peer.state)),
    `for ${formatDuration(Math.max(0, nowMs - peer.sinceMs))}`,
    printable(peer.address),
    lagOf(peer),
    peer.lastError === undefined || peer.state === 'connected' ? '' : printable(peer.lastError),
  ]);
  return `\n${renderColumns(rows, '  ')}`;
}

function lagOf(peer: ServerStatus['peers'][number]): string {
  if (peer.lagOperations === 0) return 'up to date';
  const count = peer.lagOperations === 1 ? '1 operation' : `${peer.lagOperations} operations`;
  return `${count} behind (${(peer.lagMs / 1000).toFixed(1)} s)`;
}

function renderProblems({ checks, limitsReached }: ServerStatus, paint: Paint): string {
  const failing = checks.filter(({ ok }) => !ok);
  const rows = [
    ...failing.map(({ name, reason = '' }) => [paint('red', printable(name)), printable(reason)]),
    ...limitsReached.map(({ package: owner, limit, count }) => [
      paint('yellow', printable(`${owner}.${limit}`)),
      `limit reached ${count === 1 ? 'once' : `${count} times`}`,
    ]),
  ];
  return rows.length === 0 ? '' : `\n${renderColumns(rows, '  ')}`;
}
