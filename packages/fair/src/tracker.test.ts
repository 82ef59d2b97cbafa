import { type Clock, createSystemClock, type Random, silentLogger } from '@syncline/kernel';
import { describe, expect, test, vi } from 'vitest';
import {
  createFairTracker,
  type FairRemote,
  type FairTrackerOptions,
  fairLimits,
  type Outcome,
} from './index.js';

const secret = 'sixteen bytes or more';

/** A tracker with a stopped clock whose draws are all `draw`. */
function trackerAt(draw: number, options: FairTrackerOptions = {}) {
  const time = { wallMs: 1_700_000_100_000, monotonicMs: 5_000 };
  const clock: Clock = {
    ...createSystemClock(),
    nowMs: () => time.wallMs,
    monotonicMs: () => time.monotonicMs,
  };
  const random: Random = { u32: () => 0, float: () => draw, bytes: (n) => new Uint8Array(n) };
  const counts: Record<string, number> = {};
  const metrics = {
    add(_name: string, amount = 1, labels: Readonly<Record<string, string>> = {}) {
      const label = labels['decision'] ?? labels['outcome'] ?? '';
      counts[label] = (counts[label] ?? 0) + amount;
    },
    set() {},
    observe() {},
  };
  const tracker = createFairTracker({ secret, ...options }, { clock, random, metrics });
  const reportTimes = (key: string, outcome: Outcome, count: number) => {
    for (let index = 0; index < count; index += 1) tracker.report(key, outcome);
  };
  const pass = (ms: number) => {
    time.wallMs += ms;
    time.monotonicMs += ms;
  };
  /** Counts are reported every 100 ms, and with the status. */
  const counted = () => {
    tracker.status();
    return counts;
  };
  return { tracker, counted, pass, reportTimes };
}

describe('decisions', () => {
  test('a flow whose requests fail is throttled, and its neighbor is not', () => {
    const { tracker, counted, reportTimes } = trackerAt(0.5);
    reportTimes('noisy', 'failure', 20);
    expect(tracker.register('noisy')).toMatchObject({ throttled: true, wouldThrottle: true });
    expect(tracker.register('quiet')).toMatchObject({ throttled: false, retryAfterMs: 0 });
    expect(counted()).toEqual({ failure: 20, throttled: 1, admitted: 1 });
  });

  test('each success offsets a thousandth of a failure', () => {
    const { tracker, reportTimes } = trackerAt(0);
    reportTimes('a', 'failure', 2);
    reportTimes('a', 'success', 1000);
    expect(tracker.peek('a').probability).toBeCloseTo(0.04, 10);
    reportTimes('a', 'ignore', 1000);
    expect(tracker.peek('a').probability).toBeCloseTo(0.04, 10);
  });

  test('throttles iff the draw is below the probability', () => {
    const { tracker, reportTimes } = trackerAt(0.5, { increment: 0.5 });
    reportTimes('a', 'failure', 1);
    expect(tracker.peek('a').probability).toBe(0.5);
    expect(tracker.register('a').throttled).toBe(false);
    const { tracker: lower, reportTimes: reportLower } = trackerAt(0.4999, { increment: 0.5 });
    reportLower('a', 'failure', 1);
    expect(lower.register('a').throttled).toBe(true);
  });

  test('a request counts as much as it costs', () => {
    const { tracker } = trackerAt(0.5);
    tracker.report('a', 'failure', { cost: 5 });
    expect(tracker.peek('a').probability).toBeCloseTo(0.2, 10);
    expect(tracker.register('a').throttled).toBe(false);
    expect(tracker.register('a', { cost: 4 }).throttled).toBe(true); // 1 - 0.8^4 = 0.59
    for (const cost of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1000.5]) {
      expect(tracker.register('a', { cost }).throttled, `cost ${cost}`).toBe(false);
    }
  });

  test('a cap lets a blocked flow probe', () => {
    const { tracker, reportTimes } = trackerAt(0.95, { probabilityMax: 0.9 });
    reportTimes('a', 'failure', 100);
    expect(tracker.peek('a')).toMatchObject({ probability: 1, effectiveProbability: 0.9 });
    expect(tracker.register('a').throttled).toBe(false);
  });

  test('an admitted decision is one shared, frozen object', () => {
    const { tracker } = trackerAt(0.5);
    expect(tracker.register('a')).toBe(tracker.register('b'));
    expect(Object.isFrozen(tracker.register('a'))).toBe(true);
  });

  test('a request without a key is admitted and counted as untracked', () => {
    const { tracker, counted } = trackerAt(0);
    expect(tracker.register('').throttled).toBe(false);
    expect(tracker.register(new Uint8Array()).throttled).toBe(false);
    tracker.report('', 'failure');
    expect(counted()).toEqual({ untracked: 2 });
    expect(tracker.peek('')).toMatchObject({ probability: 0, levels: [] });
  });

  test('after close everything is admitted and nothing is learned', async () => {
    const { tracker, counted, reportTimes } = trackerAt(0);
    reportTimes('a', 'failure', 100);
    await tracker.close();
    expect(tracker.register('a').throttled).toBe(false);
    tracker.report('a', 'failure');
    expect(counted()).toEqual({ failure: 100 });
  });

  test('an unknown outcome changes nothing and is logged, once', () => {
    const error = vi.fn();
    const tracker = createFairTracker({}, { logger: { ...silentLogger, error } });
    for (let count = 0; count < 50; count += 1) tracker.report('a', 'fail' as 'failure');
    expect(tracker.peek('a').probability).toBe(0);
    const message = expect.stringContaining("'success', 'failure' or 'ignore'; ignored");
    expect(error.mock.calls).toEqual([[message, { cause: 'fail' }]]);
    tracker.report('a', 'ignore');
    expect(error).toHaveBeenCalledOnce();
  });

  test('use after close is reported, once', async () => {
    const warn = vi.fn();
    const tracker = createFairTracker({}, { logger: { ...silentLogger, warn } });
    tracker.register('a');
    await tracker.close();
    expect(warn).not.toHaveBeenCalled();
    tracker.register('a');
    tracker.register('b');
    expect(warn.mock.calls).toEqual([[expect.stringContaining('the tracker is closed')]]);
  });

  test('without a logger it is a warning of Node', async () => {
    const warnings: string[] = []; // those of other code too
    const note = ({ message }: Error) => warnings.push(message);
    process.on('warning', note);
    const tracker = createFairTracker();
    await tracker.close();
    tracker.register('a');
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', note);
    expect(warnings).toContainEqual(
      expect.stringMatching(/^@syncline\/fair: the tracker is closed/),
    );
  });
});

describe('when to come back', () => {
  test.each([
    // probability 1 under exponential decay is at 0.5 after 69 s, and 30 s is the most
    ['exponential', { lambdaPerSecond: 0.01 }, 0, 30],
    ['exponential', { lambdaPerSecond: 0.05 }, 0, 14],
    ['exponential', { lambdaPerSecond: 0.05 }, 0.999, 18], // 1.25 times 13.9
    ['linear', { leakPerSecond: 0.05 }, 0, 10],
    ['linear', { leakPerSecond: 0 }, 0, 30],
  ] as const)('%s with %j and draw %d', (policy, rates, draw, seconds) => {
    const { tracker, reportTimes } = trackerAt(draw, { policy, ...rates });
    reportTimes('a', 'failure', 30);
    expect(tracker.register('a').retryAfterMs).toBe(seconds * 1000);
  });

  test('after one second, the minimum, below an even chance', () => {
    const { tracker, reportTimes } = trackerAt(0);
    reportTimes('a', 'failure', 3);
    expect(tracker.register('a')).toMatchObject({ throttled: true, retryAfterMs: 1000 });
  });
});

describe('shadow, allow list, explain', () => {
  test('shadow throttles no request and reports which would have been', () => {
    const { tracker, counted, reportTimes } = trackerAt(0, { shadow: true });
    reportTimes('a', 'failure', 25);
    const decision = tracker.register('a');
    expect(decision).toEqual({ throttled: false, wouldThrottle: true, retryAfterMs: 30_000 });
    expect(counted()).toEqual({ failure: 25, shadow: 1 });
  });

  test('an allowed key is never throttled and never counted', () => {
    const bytes = Uint8Array.of(0xff, 0x00);
    const { tracker, counted, reportTimes } = trackerAt(0, { allowList: ['health', bytes] });
    reportTimes('health', 'failure', 100);
    expect(tracker.register('health').throttled).toBe(false);
    expect(tracker.register(new TextEncoder().encode('health')).throttled).toBe(false);
    expect(tracker.register(bytes).throttled).toBe(false);
    expect(tracker.peek('health').probability).toBe(0);
    expect(counted()).toEqual({ allowed: 3 });
    tracker.register('healthy');
    expect(counted()).toEqual({ allowed: 3, admitted: 1 });
  });

  test('an async predicate that rejects is reported once, and ends nothing', async () => {
    const error = vi.fn();
    const reject = async () => await Promise.reject(new Error('no database'));
    const allowList = reject as unknown as () => boolean;
    const tracker = createFairTracker({ allowList }, { logger: { ...silentLogger, error } });
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    tracker.register('a');
    tracker.register('b');
    await createSystemClock().sleep(1);
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
    expect(error).toHaveBeenCalledOnce();
  });

  test('an allow list may be a predicate; one that throws, or waits, allows nothing', () => {
    const { tracker, counted } = trackerAt(0, { allowList: (key) => key === 'me' });
    tracker.register('me');
    tracker.register('you');
    expect(counted()).toEqual({ allowed: 1, admitted: 1 });
    const broken = () => {
      throw new Error('broken');
    };
    const waiting = (async () => true) as unknown as () => boolean;
    for (const allowList of [broken, waiting]) {
      const other = trackerAt(0, { allowList });
      other.tracker.register('me');
      expect(other.counted()).toEqual({ admitted: 1 });
    }
  });

  test('an allow list has a limit', () => {
    const keys = Array.from(
      { length: fairLimits.allowListKeysMax.value },
      (_, index) => `k${index}`,
    );
    expect(() => createFairTracker({ allowList: keys })).not.toThrow();
    expect(() => createFairTracker({ allowList: [...keys, 'more'] })).toThrow(
      expect.objectContaining({ code: 'limit-exceeded' }),
    );
  });

  test('explain shows what decided', () => {
    const { tracker, pass, reportTimes } = trackerAt(0.5, { explain: true, policy: 'linear' });
    reportTimes('a', 'failure', 10);
    pass(10_000);
    const { explanation } = tracker.register('a', { cost: 2 });
    expect(explanation).toMatchObject({ cost: 2, decidingLevel: 0, seed: 1_699_999_800_000 });
    expect(explanation?.probability).toBeCloseTo(0.35, 10);
    expect(explanation?.effectiveProbability).toBeCloseTo(1 - 0.65 ** 2, 10);
    expect(explanation?.secondaryProbability).toBeCloseTo(0.35, 10);
    expect(explanation?.levels.map(({ level, ageMs }) => [level, ageMs])).toEqual([
      [0, 10_000],
      [1, 10_000],
      [2, 10_000],
    ]);
    expect(tracker.peek('never seen').levels[0]).toMatchObject({
      probability: 0,
      ageMs: undefined,
    });
  });

  test('with mean all levels decide', () => {
    const { tracker, reportTimes } = trackerAt(0.5, { combine: 'mean' });
    reportTimes('a', 'failure', 5);
    expect(tracker.peek('a').probability).toBeCloseTo(0.2, 10);
    expect(tracker.peek('a').decidingLevel).toBeUndefined();
  });
});

describe('windows', () => {
  const windowMs = 300_000;

  test('what was learned survives the first boundary and is gone after the second', () => {
    const { tracker, pass, reportTimes } = trackerAt(0, { leakPerSecond: 0 });
    reportTimes('a', 'failure', 10);
    const first = tracker.status().seeds;
    pass(windowMs);
    expect(tracker.status().seeds).toEqual({
      main: first.secondary,
      secondary: first.secondary + windowMs,
    });
    expect(tracker.peek('a').probability).toBeCloseTo(0.4, 10);
    pass(windowMs);
    expect(tracker.peek('a').probability).toBe(0);
  });

  test('status shows the result of tuning', () => {
    const { tracker } = trackerAt(0);
    expect(tracker.status()).toMatchObject({
      levels: 3,
      columns: 1000,
      increment: 0.04,
      decrement: 0.00004,
      seeds: { main: 1_699_999_800_000, secondary: 1_700_000_100_000 },
    });
  });
});

describe('options that cannot work', () => {
  test.each([
    ['flushInterval', { flushInterval: 5 }, 'Did you mean "flushIntervalMs"?'],
    ['sheddow', { sheddow: true }, 'Did you mean "shadow"?'],
    ['expectedFlow', { tuning: { expectedFlow: 5 } }, 'Did you mean "expectedFlows"?'],
    ['quota', { quota: 5 }, 'Expected one of: policy, lambdaPerSecond'],
  ])('%s is unknown, and the nearest name is suggested', (field, options, hint) => {
    expect(() => createFairTracker(options as FairTrackerOptions)).toThrow(
      expect.objectContaining({
        code: 'invalid-argument',
        details: { field },
        message: expect.stringContaining(hint),
      }),
    );
  });

  test('an unknown policy is refused with the known ones', () => {
    expect(() => createFairTracker({ policy: 'lin' as 'linear' })).toThrow(
      "invalid option policy = lin for @syncline/fair; expected 'exponential' or 'linear'",
    );
  });

  test.each([
    ['policy', { policy: 'afd' as 'linear' }],
    ['lambdaPerSecond', { lambdaPerSecond: -0.01 }],
    ['leakPerSecond', { leakPerSecond: Number.POSITIVE_INFINITY }],
    ['combine', { combine: 'max' as 'min' }],
    ['probabilityMax', { probabilityMax: 0 }],
    ['probabilityMax', { probabilityMax: 1.1 }],
    ['windowMs', { windowMs: 9_999 }],
    ['windowMs', { windowMs: 86_400_001 }],
    ['hash', { hash: 'md5' as 'keyed' }],
    ['secret', { secret: 'fifteen bytes .' }],
    ['probabilityMax', { probabilityMax: '1' as unknown as number }],
    ['allowList', { allowList: 'abc' as unknown as string[] }],
    ['allowList', { allowList: [5] as unknown as string[] }],
    ['secret', { secret: 5 as unknown as string }],
    ['remote', { secret: 'sixteen bytes or more', remote: {} as unknown as FairRemote }],
    ['shadow', { shadow: 'no' as unknown as boolean }],
  ])('%s is refused by name', (field, options) => {
    expect(() => createFairTracker(options, { logger: silentLogger })).toThrow(
      expect.objectContaining({ code: 'invalid-argument', details: { field } }),
    );
  });
});
