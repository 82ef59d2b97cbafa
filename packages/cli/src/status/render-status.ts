// The status of a server for people. Facts first, then what is wrong; nothing is said about what is
// as it should be.
import type { ServerStatus } from '@syncline/server';
import { renderColumns } from '../columns.js';
import { formatDuration } from '../duration.js';
import type { Paint } from '../paint.js';
import { printable } from '../printable.js';

export function renderStatus(status: ServerStatus, paint: Paint): string {
  const state = status.isReady ? paint('green', 'ready') : paint('red', 'not ready');
  const head = `${paint('bold', `node ${status.nodeId}`)} of ${status.clusterId}  ${state}\n\n`;
  const facts = [
    ['version', `${status.version} on Node ${status.nodeVersion}`],
    ['up', formatDuration(status.uptimeMs)],
    ['data', printable(status.dataDir ?? 'in memory, gone at the end')],
    ...status.listeners.map(({ listener, host, port }) => [listener, `${host}:${port}`]),
  ];
  return [
    head,
    renderColumns(facts, '  '),
    renderSlices(status, paint),
    renderProblems(status, paint),
  ].join('');
}

function renderSlices({ slices }: ServerStatus, paint: Paint): string {
  if (slices.length === 0) return '\nNo slice is enabled: this server keeps no state yet.\n';
  const rows = slices.map(({ name, health, storage, details }) => [
    name,
    health.kind === 'ready' ? paint('green', 'ready') : paint('red', health.kind),
    storage === undefined ? '' : `storage ${storage.kind}`,
    Object.entries(details)
      .map(([label, value]) =>
        printable(`${label} ${typeof value === 'string' ? value : JSON.stringify(value)}`),
      )
      .join(', '),
  ]);
  return `\n${renderColumns(rows, '  ')}`;
}

function renderProblems({ checks, limitsReached }: ServerStatus, paint: Paint): string {
  const failing = checks.filter(({ ok }) => !ok);
  const rows = [
    ...failing.map(({ name, reason = '' }) => [paint('red', name), printable(reason)]),
    ...limitsReached.map(({ package: owner, limit, count }) => [
      paint('yellow', `${owner}.${limit}`),
      `limit reached ${count === 1 ? 'once' : `${count} times`}`,
    ]),
  ];
  return rows.length === 0 ? '' : `\n${renderColumns(rows, '  ')}`;
}
