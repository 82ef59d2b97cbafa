import { type Clock, createSystemClock, type Logger, silentLogger } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decayed } from './decay.js';
import { createFairTracker, type FairTrackerOptions } from './index.js';

const START_MS = 1_700_000_100_000;
const windowMs = 10_000;

function world(options: FairTrackerOptions, logger: Logger = silentLogger) {
  const time = { wallMs: START_MS, monotonicMs: 0 };
  const clock: Clock = {
    ...createSystemClock(),
    nowMs: () => time.wallMs,
    monotonicMs: () => time.monotonicMs,
  };
  const random = createSeededRandom('fair');
  const settings = { windowMs, secret: 'sixteen bytes or more', ...options };
  return { time, tracker: createFairTracker(settings, { clock, random, logger }) };
}

const shapes: fc.Arbitrary<FairTrackerOptions> = fc.record({
  policy: fc.constantFrom('exponential', 'linear'),
  combine: fc.constantFrom('min', 'mean'),
  levels: fc.integer({ min: 1, max: 16 }),
  columns: fc.integer({ min: 2, max: 50 }),
  increment: fc.double({ min: 0.001, max: 0.999, noNaN: true }),
  decrement: fc.double({ min: 1e-9, max: 0.0009, noNaN: true }),
  lambdaPerSecond: fc.double({ min: 0, max: 1e6, noNaN: true }),
  leakPerSecond: fc.double({ min: 0, max: 1e6, noNaN: true }),
  hash: fc.constantFrom('keyed', 'keyed', 'murmur3'),
  explain: fc.boolean(),
  shadow: fc.boolean(),
});
const keys = fc.oneof(fc.constantFrom('a', 'b', 'c'), fc.string(), fc.uint8Array());

const calls = fc.array(
  fc.record({
    passMs: fc.oneof(
      fc.integer({ min: 0, max: 3 * windowMs }),
      fc.double({ min: 0, max: 1, noNaN: true }),
    ),
    stepMs: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.integer({ min: -1e6, max: 1e6 })),
    key: keys,
    outcome: fc.constantFrom('success' as const, 'failure' as const, 'ignore' as const),
    cost: fc.oneof(fc.constant(1), fc.double(), fc.double({ min: 0, max: 1000 })),
  }),
  { maxLength: 60 },
);

test('F3 every probability is finite and in [0, 1], whatever is reported and whenever', () => {
  fc.assert(
    fc.property(shapes, calls, (options, sequence) => {
      const { time, tracker } = world(options);
      for (const { passMs, stepMs, key, outcome, cost } of sequence) {
        time.monotonicMs += passMs;
        time.wallMs += passMs + stepMs;
        tracker.register(key, { cost });
        tracker.report(key, outcome, { cost });
        const { probability, effectiveProbability, secondaryProbability, levels } =
          tracker.peek(key);
        const all = [probability, effectiveProbability, secondaryProbability];
        for (const value of [...all, ...levels.map((level) => level.probability)]) {
          expect(value >= 0 && value <= 1).toBe(true); // false for NaN
        }
      }
    }),
  );
});

test('F8 the same for keys and options that throw; bytes of any type are one key', () => {
  const boom = () => {
    throw new Error('hostile');
  };
  class Liar extends Uint8Array {
    override get length(): number {
      return boom();
    }
    override subarray(): never {
      return boom();
    }
  }
  const bytes = new TextEncoder().encode('abc');
  const detached = new Uint8Array(4);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  const hostileKeys = [
    new Proxy({}, { getPrototypeOf: boom }),
    new Proxy(bytes, {}),
    Object.create(Uint8Array.prototype) as unknown,
    new Liar(bytes),
    new Liar(10_000),
    Object.defineProperty(new Uint8Array(9), 'length', { value: 1e9 }),
    detached,
  ];
  const options = Object.defineProperty({}, 'cost', { get: boom });
  for (const allowList of [undefined, ['other'], boom]) {
    const { tracker } = world(allowList === undefined ? {} : { allowList });
    for (const key of hostileKeys as string[]) {
      expect(tracker.register(key, options).throttled).toBe(false);
      expect(tracker.report(key, 'failure', options)).toBeUndefined();
      expect(tracker.peek(key).probability).toBeLessThanOrEqual(0.04);
    }
    expect(tracker.peek('abc').probability).toBeGreaterThan(0);
  }
});

test('F8 register and report never throw, whatever they are given', () => {
  const given = fc.record({
    key: fc.oneof(keys, fc.anything()),
    outcome: fc.oneof(fc.constantFrom('success', 'failure'), fc.anything()),
    options: fc.oneof(fc.anything(), fc.record({ cost: fc.anything() })),
  });
  fc.assert(
    fc.property(shapes, fc.array(given), (options, sequence) => {
      const { tracker } = world(options);
      for (const call of sequence) {
        const {
          key,
          outcome,
          options: cost,
        } = call as {
          key: string;
          outcome: 'success';
          options: { cost: number };
        };
        expect(typeof tracker.register(key, cost).throttled).toBe('boolean');
        expect(tracker.report(key, outcome, cost)).toBeUndefined();
      }
    }),
  );
});

describe('without outcomes', () => {
  test('F7 a probability only decays, however often it is read', () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 1_000 }), { maxLength: 9 });
    fc.assert(
      fc.property(
        shapes,
        fc.integer({ min: 1, max: 30 }),
        pauses,
        (options, failures, pausesMs) => {
          const { time, tracker } = world({ ...options, explain: false });
          for (let index = 0; index < failures; index += 1) tracker.report('a', 'failure');
          const before = tracker.peek('a').probability;
          for (const pauseMs of pausesMs) {
            time.monotonicMs += pauseMs;
            time.wallMs += pauseMs;
            tracker.register('a');
          }
          const { policy = 'exponential', lambdaPerSecond = 0, leakPerSecond = 0 } = options;
          const ratePerSecond = policy === 'linear' ? leakPerSecond : lambdaPerSecond;
          const left = decayed({ policy, ratePerSecond }, before, time.monotonicMs);
          expect(tracker.peek('a').probability).toBeCloseTo(left, 12);
        },
      ),
    );
  });

  test('F18 deciding and peeking change no cell', () => {
    fc.assert(
      fc.property(shapes, fc.array(keys), (options, read) => {
        const { tracker } = world(options);
        for (let index = 0; index < 5; index += 1) tracker.report('a', 'failure');
        const before = tracker.peek('a');
        for (const key of read) {
          tracker.register(key);
          tracker.peek(key);
        }
        expect(tracker.peek('a')).toEqual(before);
      }),
    );
  });
});

describe('F19 windows', () => {
  const moves = fc.array(
    fc.record({
      passMs: fc.integer({ min: 100, max: 5 * windowMs }), // a step is seen within 100 ms
      stepMs: fc.oneof(
        fc.constant(0),
        fc.integer({ min: -2 * windowMs, max: 2 * windowMs }),
        fc.integer({ min: -1e6, max: 1e6 }),
      ),
    }),
    { maxLength: 40 },
  );

  test('seeds are neighbors, follow the wall clock, and go back for large steps only', () => {
    fc.assert(
      fc.property(moves, (sequence) => {
        const { time, tracker } = world({});
        let last = tracker.status().seeds.secondary;
        for (const { passMs, stepMs } of sequence) {
          time.monotonicMs += passMs;
          time.wallMs += passMs + stepMs;
          const { main, secondary } = tracker.status().seeds;
          expect(secondary - main).toBe(windowMs);
          const isBehind = time.wallMs < last && last - time.wallMs <= 2 * windowMs;
          const current = Math.floor(time.wallMs / windowMs) * windowMs;
          expect(secondary).toBe(isBehind ? last : current);
          last = secondary;
        }
      }),
    );
  });

  test('a small step back loses nothing; a large one, either way, starts over and is logged', () => {
    const warnings: string[] = [];
    const logger: Logger = { ...silentLogger, warn: (message) => warnings.push(message) };
    for (const [stepMs, isKept] of [
      [-2 * windowMs - 100, true],
      [-2 * windowMs - 101, false],
      [2 * windowMs + 1, false],
    ] as const) {
      warnings.length = 0;
      const { time, tracker } = world({ lambdaPerSecond: 0 }, logger);
      tracker.report('a', 'failure');
      time.wallMs += stepMs + 100;
      time.monotonicMs += 100;
      expect(tracker.peek('a').probability > 0, `step ${stepMs}`).toBe(isKept);
      expect(warnings.length, `step ${stepMs}`).toBe(isKept ? 0 : 1);
    }
  });

  test('an idle tracker starts over without a warning', () => {
    const warnings: string[] = [];
    const logger: Logger = { ...silentLogger, warn: (message) => warnings.push(message) };
    const { time, tracker } = world({}, logger);
    tracker.report('a', 'failure');
    time.wallMs += 1000 * windowMs;
    time.monotonicMs += 1000 * windowMs;
    expect(tracker.peek('a').probability).toBe(0);
    expect(warnings).toEqual([]);
  });
});
