// N trackers that share their state, over a network that settles between two calls, compared with one tracker
// that gets all the calls: every decision and every probability must be exactly the same.
//
// `FAIR_SCHEDULES=2000 npx vitest run --project unit packages/fair/src/instant-sync` runs more schedules.
import { type Random, silentLogger, silentMetrics } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { createLoopbackRemote } from './evaluation/loopback-network.js';
import { ManualClock } from './evaluation/manual-clock.js';
import type { FairTracker } from './fair-tracker.js';
import { createMemoryFairStore } from './state/memory-fair-store.js';
import { StateService } from './state/state-service.js';
import { createFairTracker } from './tracker.js';
import type { FairTrackerOptions } from './tracker-options.js';

const windowMs = 10_000;
const KEYS = ['a', 'b', 'c', 'd', 'e'];

interface Step {
  readonly passMs: number;
  readonly instance: number;
  readonly key: string;
  readonly call: 'register' | 'success' | 'failure';
  readonly cost: number;
  readonly draw: number;
}

const shapes: fc.Arbitrary<FairTrackerOptions> = fc.record({
  policy: fc.constantFrom('exponential', 'linear'),
  lambdaPerSecond: fc.constantFrom(0, 0.01, 0.1),
  leakPerSecond: fc.constantFrom(0, 0.005, 0.05),
  combine: fc.constantFrom('min', 'mean'),
  levels: fc.integer({ min: 1, max: 4 }),
  columns: fc.integer({ min: 2, max: 20 }), // few, so that flows collide
  increment: fc.constantFrom(0.04, 0.1, 1 / 3),
  decrement: fc.constantFrom(0.000_04, 0.01),
});

const steps: fc.Arbitrary<Step> = fc.record({
  passMs: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(0, 0, 1, 7) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 2_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 3 * windowMs }) },
  ),
  instance: fc.nat(),
  key: fc.constantFrom(...KEYS),
  call: fc.constantFrom('register', 'register', 'success', 'failure', 'failure'),
  cost: fc.constantFrom(1, 1, 1, 0.5, 3, 25),
  draw: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});

function world(options: FairTrackerOptions, instances: number) {
  const clock = new ManualClock(1_700_000_104_321);
  const draws = { next: 0 };
  const seeded = createSeededRandom('instances');
  const random: Random = {
    u32: () => seeded.u32(),
    float: () => draws.next,
    bytes: (count) => seeded.bytes(count),
  };
  const deps = { clock, random, logger: silentLogger, metrics: silentMetrics };
  const service = new StateService({ ...deps, store: createMemoryFairStore({ clock }) });
  const remote = createLoopbackRemote(service, { tracker: 'api' });
  const settings = { ...options, windowMs, secret: 'sixteen bytes or more' };
  const alone = createFairTracker(settings, deps);
  const together = Array.from({ length: instances }, () =>
    createFairTracker({ ...settings, remote, flushIntervalMs: 0 }, deps),
  );
  let elapsedMs = 0;
  const pass = (ms: number) => {
    elapsedMs += ms;
    clock.advanceTo(elapsedMs);
  };
  return { alone, together, draws, pass };
}

function expectSameView(shared: FairTracker, alone: FairTracker, key: string): void {
  const { gain, synced, levels, ...explained } = shared.peek(key);
  const expected = alone.peek(key);
  expect([gain, synced]).toEqual([1, true]);
  expect(explained).toMatchObject({
    probability: expected.probability,
    secondaryProbability: expected.secondaryProbability,
    seed: expected.seed,
  });
  expect(levels.map((level) => level.probability)).toEqual(
    expected.levels.map((level) => level.probability),
  );
}

test('F1 instances with instant sync decide exactly as one tracker', { timeout: 600_000 }, () => {
  fc.assert(
    fc.property(
      shapes,
      fc.integer({ min: 2, max: 5 }),
      fc.array(steps, { minLength: 8, maxLength: 60 }),
      (options, instances, schedule) => {
        const { alone, together, draws, pass } = world(options, instances);
        pass(0);
        for (const { passMs, instance, key, call, cost, draw } of schedule) {
          pass(passMs);
          draws.next = draw;
          const shared = together[instance % instances] ?? alone;
          if (call === 'register') {
            expect(shared.register(key, { cost })).toEqual(alone.register(key, { cost }));
          } else {
            shared.report(key, call, { cost });
            alone.report(key, call, { cost });
          }
          pass(0);
          for (const tracker of together) expectSameView(tracker, alone, key);
        }
        for (const tracker of together) {
          for (const key of KEYS) expectSameView(tracker, alone, key);
          expect(tracker.status().pendingCells).toBe(0);
        }
      },
    ),
    { numRuns: inject('fairSchedules') },
  );
});

declare module 'vitest' {
  interface ProvidedContext {
    readonly fairSchedules: number;
  }
}
