import { expect, test, vi } from 'vitest';
import { CALL, CallCounts } from './call-counts.js';
import { ManualClock } from './evaluation/manual-clock.js';

function createCounts() {
  const add = vi.fn();
  const clock = new ManualClock(0);
  const counts = new CallCounts({ clock, metrics: { add, set() {}, observe() {} } }, 'api');
  return { add, clock, counts };
}

test('all calls are reported together, 100 ms after the first', () => {
  const { add, clock, counts } = createCounts();
  for (let index = 0; index < 3; index += 1) counts.add(CALL.admitted);
  counts.add(CALL.failure);
  clock.advanceTo(99);
  expect(add).not.toHaveBeenCalled();
  clock.advanceTo(100);
  expect(add.mock.calls).toEqual([
    ['syncline_fair_decisions_total', 3, { tracker: 'api', decision: 'admitted' }],
    ['syncline_fair_outcomes_total', 1, { tracker: 'api', outcome: 'failure' }],
  ]);
  clock.advanceTo(1_000);
  expect(add).toHaveBeenCalledTimes(2);
});

test('or immediately on request, and then not again', () => {
  const { add, clock, counts } = createCounts();
  counts.add(CALL.untracked);
  counts.publish();
  expect(add).toHaveBeenCalledOnce();
  clock.advanceTo(1_000);
  expect(add).toHaveBeenCalledOnce();
  counts.add(CALL.untracked);
  clock.advanceTo(1_100);
  expect(add).toHaveBeenCalledTimes(2);
});
