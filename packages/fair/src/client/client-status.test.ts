import { SynclineError, silentLogger } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { ConnectionLog } from './client-status.js';

test.each([
  ['ended', 'stream ended'],
  ['overdue', 'no reply in time'],
  ['stale', 'shared state restarted'],
] as const)('a connection lost by the event %s is logged with the reason "%s"', (event, reason) => {
  const lines: unknown[] = [];
  const log = new ConnectionLog({ ...silentLogger, warn: (_, fields) => lines.push(fields) });
  log.lost(event, new SynclineError('unavailable', 'gone'));
  expect(lines).toEqual([{ reason, code: 'unavailable', error: 'gone' }]);
});
