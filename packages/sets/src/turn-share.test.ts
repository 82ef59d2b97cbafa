import type { Clock } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { TurnShare } from './turn-share.js';

/** Time and turns move when the test says so. */
function manualClock() {
  const deferred: (() => void)[] = [];
  const turn = () => {
    for (const run of deferred.splice(0)) run();
  };
  const world = { nowMs: 0, turn };
  const clock = {
    monotonicMs: () => world.nowMs,
    defer: (run: () => void) => {
      deferred.push(run);
      return { cancel() {} };
    },
  } as unknown as Clock;
  return { clock, world };
}

test('work goes on while its slice has time left', async () => {
  const { clock, world } = manualClock();
  const turns = new TurnShare(clock);
  const first = turns.breathe();
  world.turn();
  await first;
  world.nowMs += 1.9;
  expect(turns.breathe()).toBeUndefined();
  world.nowMs += 0.2;
  expect(turns.breathe()).toBeInstanceOf(Promise);
});

test('of many that wait one goes on per turn, in order', async () => {
  const { clock, world } = manualClock();
  const turns = new TurnShare(clock);
  const order: number[] = [];
  for (let worker = 0; worker < 3; worker += 1) {
    void turns.breathe()?.then(() => order.push(worker));
  }
  const lengths: number[] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    world.turn();
    await Promise.resolve();
    lengths.push(order.length);
  }
  expect([order, lengths]).toEqual([
    [0, 1, 2],
    [1, 2, 3, 3],
  ]);
});
