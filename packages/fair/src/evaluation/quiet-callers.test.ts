// What callers below their share can expect beside one that takes far more: the table in docs/fair.md.
import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { createFairTracker } from '../tracker.js';
import { ManualClock } from './manual-clock.js';

const CAPACITY_PER_SECOND = 100;
const NOISY_PER_SECOND = 200;
const QUIET_COUNT = 9;
const WARM_UP_MS = 120_000;
const END_MS = 600_000;

/** Ten minutes with random arrivals; the first two are not counted. */
function refusedPart(policy: 'linear' | 'exponential', quietPerSecond: number): number {
  const clock = new ManualClock(1_700_000_000_000);
  const arrivals = createSeededRandom('arrivals');
  const tracker = createFairTracker({ policy }, { clock, random: createSeededRandom('tracker') });
  const callers = Array.from({ length: QUIET_COUNT }, (_, index) => ({
    key: `quiet-${index}`,
    perMs: quietPerSecond / 1_000,
  }));
  const all = [...callers, { key: 'noisy', perMs: NOISY_PER_SECOND / 1_000 }];
  let tokens = 0;
  let asked = 0;
  let refused = 0;
  for (let nowMs = 0; nowMs < END_MS; nowMs += 1) {
    clock.advanceTo(nowMs);
    tokens = Math.min(CAPACITY_PER_SECOND / 10, tokens + CAPACITY_PER_SECOND / 1_000);
    for (const { key, perMs } of all) {
      if (arrivals.float() >= perMs) continue;
      const isCounted = key !== 'noisy' && nowMs >= WARM_UP_MS;
      if (isCounted) asked += 1;
      if (tracker.register(key).throttled) {
        if (isCounted) refused += 1;
        continue;
      }
      const isServed = tokens >= 1;
      if (isServed) tokens -= 1;
      tracker.report(key, isServed ? 'success' : 'failure');
    }
  }
  return refused / asked;
}

test.each([
  ['linear', 1, 0.01],
  ['linear', 5, 0.02],
  ['linear', 8, 0.05],
  ['linear', 10, 0.15],
  ['exponential', 5, 0.12],
  ['exponential', 10, 0.3],
] as const)(
  '%s: callers at %i requests per second, whose share is 10, are refused less than %d of them',
  (policy, quietPerSecond, partMax) => {
    expect(refusedPart(policy, quietPerSecond)).toBeLessThan(partMax);
  },
);
