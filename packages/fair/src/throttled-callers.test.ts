import { expect, test } from 'vitest';
import { fairLimits } from './limits.js';
import { ThrottledCallers } from './throttled-callers.js';
import { createFairTracker } from './tracker.js';

test('a caller that is refused often stays on top, however many others are refused once', () => {
  const callers = new ThrottledCallers();
  const othersCount = 20 * fairLimits.throttledCallersMax.value;
  for (let index = 0; index < othersCount; index += 1) {
    if (index % 10 === 0) callers.note('noisy');
    callers.note(`once-${index}`);
  }
  const [first, second] = callers.top(2);
  expect(first?.key).toBe('noisy');
  expect(first?.throttled).toBeGreaterThanOrEqual(othersCount / 10);
  expect((first?.throttled ?? 0) - (first?.errorMax ?? 0)).toBeLessThanOrEqual(othersCount / 10);
  expect(second?.throttled).toBeLessThan(first?.throttled ?? 0);
  expect(callers.top(1e6)).toHaveLength(fairLimits.throttledCallersKept.value);
});

test('counts halve at each window until a caller is forgotten', () => {
  const callers = new ThrottledCallers();
  for (let count = 0; count < 5; count += 1) callers.note('a');
  callers.note(Uint8Array.of(0, 255));
  expect(callers.top(5).map(({ key, throttled }) => [key, throttled])).toEqual([
    ['a', 5],
    ['00ff', 1],
  ]);
  callers.halve();
  expect(callers.top(5)).toEqual([{ key: 'a', throttled: 2, errorMax: 0 }]);
});

test.each([false, true])(
  'a tracker names the callers it refuses, with shadow %s',
  async (shadow) => {
    const tracker = createFairTracker({ shadow });
    for (let count = 0; count < 100; count += 1) tracker.report('noisy', 'failure');
    for (let count = 0; count < 20; count += 1) {
      tracker.register('noisy');
      tracker.register('quiet');
    }
    expect(tracker.top(3)).toMatchObject([
      { key: 'noisy', throttled: 20, probability: expect.closeTo(1, 1) },
    ]);
    await tracker.close();
  },
);
