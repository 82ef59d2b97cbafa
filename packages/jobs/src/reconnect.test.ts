import { backoffMs, SynclineError } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import type { Cursor } from './job-store.js';
import { checkReconnect, storeUnreachable } from './reconnect.js';

test('waits double from 1 s to 60 s, and are at least half of their bound', () => {
  const random = createSeededRandom(1);
  for (const [attempt, boundMs] of [1, 2, 4, 8, 16, 32, 60, 60].entries()) {
    for (let draw = 0; draw < 100; draw += 1) {
      const delayMs = backoffMs(attempt, { ...checkReconnect(), jitter: 'half' }, random);
      expect(delayMs).toBeGreaterThanOrEqual(boundMs * 500);
      expect(delayMs).toBeLessThan(boundMs * 1_000);
    }
  }
});

test('giving up reports the reason, and where to resume', () => {
  const cause = new SynclineError('unavailable', 'connection refused.');
  const error = storeUnreachable(checkReconnect(), { cursor: '17:4' as Cursor, cause });
  expect(error).toMatchObject({ code: 'unavailable', details: { cursor: '17:4' }, cause });
  expect(error.message).toContain('5 attempts: connection refused. Subscribe again');
});
