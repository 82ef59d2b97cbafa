// The queues to Redis and to `recv` are bounded, even if neither is served.
import { expect, test } from 'vitest';
import { PendingUpdates, ReceivedBuckets } from './storage-buckets.js';

const delta = { rowId: 0, colId: 3, deltaProb: 0.25, lastUpdateTimeMs: 1 };
const bucket = { rowId: 0, colId: 3, prob: 0.25, lastUpdateTimeMs: 1 };

test('waiting callers are limited, even for one cell; an empty list waits for nothing', () => {
  const pending = new PendingUpdates(2);
  const add = (updates: readonly (typeof delta)[]) =>
    pending.add([{ seed: 1n, updates }], () => () => {});
  expect([add([]), pending.has(1n)]).toEqual(['added', false]);
  expect([add([delta]), add([delta]), add([delta])]).toEqual(['added', 'added', 'full']);
  expect(pending.take(1n)?.waiters).toHaveLength(2);
  expect(add([delta])).toBe('added');
});

test('cells that are dropped are reported, and seeds without cells are bounded', async () => {
  const dropped: number[] = [];
  const received = new ReceivedBuckets(2, (cellsCount) => dropped.push(cellsCount));
  received.put(
    1n,
    [3, 4, 5, 6].map((colId) => ({ ...bucket, colId })),
  );
  expect(dropped).toEqual([2]);
  for (let seed = 2n; seed < 1_000n; seed += 1n) received.put(seed, []);
  expect((await received.take()).length).toBeLessThanOrEqual(64);
});
