import { expect, test } from 'vitest';
import { SharedRun } from './shared-run.js';

test('K41 one run at a time, also for a caller that comes right after one has ended', async () => {
  const ends: (() => void)[] = [];
  let inFlight = 0;
  const runs = new SharedRun(async () => {
    inFlight += 1;
    expect(inFlight).toBe(1);
    await new Promise<void>((resolve) => ends.push(resolve));
    inFlight -= 1;
  });
  const first = runs.request();
  const second = runs.request();
  const late = first.then(() => runs.request()); // the second one has not started yet
  ends.shift()?.();
  await first;
  await Promise.resolve();
  ends.shift()?.();
  await Promise.all([second, late]);
  expect(ends).toEqual([]);
});
