// Prints the status of a server: an overview, then problems; checks that pass are not mentioned. All text from the
// server is escaped, since it is untrusted.
import type { ServerStatus } from '@syncline/server';
import { renderColumns } from '../columns.js';
import { formatDuration } from '../duration.js';
import type { Paint } from '../paint.js';
import { printable } from '../printable.js';

export function renderStatus(status: ServerStatus, paint: Paint): string {
  const state = status.isReady ? paint('green', 'ready') : paint('red', 'not ready');
  const name = paint('bold', `node ${status.nodeId}`);
  const head = `${name} of cluster ${printable(status.clusterId)}  ${state}\n\n`;
  const facts = [
    ['version', printable(`${status.version} on Node ${status.nodeVersion}`)],
    ['up', formatDuration(status.uptimeMs)],
    ['data', printable(status.dataDir ?? 'in memory, lost on exit')],
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
  if (slices.length === 0) return '\nNo slice is enabled: this server stores no state.\n';
  const rows = slices.map(({ name, health, storage, details }) => [
    printable(name),
    health.kind === 'ready' ? paint('green', 'ready') : paint('red', printable(health.kind)),
    storage === undefined ? '' : printable(`storage ${storage.kind}`),
    countsOf(details).join(', '),
  ]);
  return `\n${renderColumns(rows, '  ')}`;
}

/** What a user counts, by the field of the status; `--json` shows all fields. */
const COUNTED: Readonly<Record<string, readonly [one: string, many: string]>> = {
  jobs: ['job', 'jobs'],
  subscribers: ['subscriber', 'subscribers'],
  sets: ['set', 'sets'],
  elements: ['element', 'elements'],
  trackers: ['tracker', 'trackers'],
  streams: ['connection', 'connections'], // of trackers
  pipelines: ['pipeline', 'pipelines'],
};

function countsOf(details: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(COUNTED).flatMap(([field, [one, many]]) => {
    const count = details[field];
    if (typeof count !== 'number') return [];
    return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
  });
}

/** Which peers are behind, by how much and for how long. */
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
  const lag =
    peer.lagMs < 1_000 ? `${(peer.lagMs / 1_000).toFixed(1)} s` : formatDuration(peer.lagMs);
  return `${count} behind for ${lag}`;
}

function renderProblems({ checks, limitsReached }: ServerStatus, paint: Paint): string {
  const noted = checks.filter(({ ok, reason }) => !ok || reason !== undefined);
  const rows = [
    ...noted.map(({ name, ok, reason = '' }) => [
      paint(ok ? 'yellow' : 'red', printable(name)),
      printable(reason),
    ]),
    ...limitsReached.map(({ package: owner, limit, count }) => [
      paint('yellow', printable(`${owner}.${limit}`)),
      `limit reached ${count === 1 ? 'once' : `${count} times`}`,
    ]),
  ];
  return rows.length === 0 ? '' : `\n${renderColumns(rows, '  ')}`;
}
