import { expect, test } from 'vitest';
import { ManualClock } from './manual-clock.js';

test('it is stopped, then timers run in order, each at its time', () => {
  const clock = new ManualClock(1_000_000);
  const ran: string[] = [];
  const note = (name: string) => () => ran.push(`${name} at ${clock.monotonicMs()}`);
  clock.setTimer(20, note('late'));
  clock.setTimer(10, () => clock.setTimer(5, note('nested')));
  clock.setTimer(10, note('first of equals'));
  clock.setTimer(10, note('second of equals'));
  clock.setTimer(12, note('cancelled')).cancel();
  clock.setTimer(31, note('not yet'));
  expect(ran).toEqual([]);
  clock.advanceTo(30);
  expect(ran).toEqual([
    'first of equals at 10',
    'second of equals at 10',
    'nested at 15',
    'late at 20',
  ]);
  expect([clock.monotonicMs(), clock.nowMs()]).toEqual([30, 1_000_030]);
});

test('it never goes back', () => {
  const clock = new ManualClock(0);
  clock.advanceTo(30);
  clock.advanceTo(20);
  expect(clock.monotonicMs()).toBe(30);
});

test('sleep ends with time or with its signal', async () => {
  const clock = new ManualClock(0);
  const slept = clock.sleep(10);
  clock.advanceTo(10);
  await slept;
  const abort = new AbortController();
  const woken = clock.sleep(10, abort.signal);
  abort.abort();
  await expect(woken).rejects.toMatchObject({ code: 'aborted' });
});

test('a skewed view shows different times, and its timers run at the same moment', () => {
  const clock = new ManualClock(1_000);
  const skewed = clock.skewed(-400);
  let ranAt = 0;
  skewed.setTimer(10, () => {
    ranAt = skewed.nowMs();
  });
  clock.advanceTo(50);
  expect([ranAt, skewed.nowMs(), skewed.monotonicMs()]).toEqual([610, 650, -350]);
});
