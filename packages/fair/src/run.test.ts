import { SynclineError, silentLogger } from '@syncline/kernel';
import { describe, expect, test, vi } from 'vitest';
import { createFairTracker, type FairTracker } from './index.js';

/** How often a function must fail until the flow is certainly blocked. */
async function block(tracker: FairTracker, key: string): Promise<void> {
  for (let index = 0; index < 25; index += 1) tracker.report(key, 'failure');
}

const options = { lambdaPerSecond: 0 };

const hostileError = {
  get status(): number {
    throw new Error('hostile');
  },
};

describe('run', () => {
  test('returns the result of the function', async () => {
    const tracker = createFairTracker(options);
    expect(await tracker.run('a', () => 42)).toBe(42);
    expect(await tracker.run('a', async () => 'later')).toBe('later');
    const broken = new Error('broken');
    await expect(tracker.run('a', () => Promise.reject(broken))).rejects.toBe(broken);
  });

  test.each([
    ['HTTP 429', { status: 429 }, 0.04],
    ['HTTP 503', Object.assign(new Error('busy'), { statusCode: 503 }), 0.04],
    ['gRPC RESOURCE_EXHAUSTED', Object.assign(new Error('full'), { code: 8 }), 0.04],
    ['our overloaded', new SynclineError('overloaded', 'full'), 0.04],
    ['our unavailable', new SynclineError('unavailable', 'gone'), 0],
    ['HTTP 500', { status: 500 }, 0],
    ['another error', new TypeError('bug'), 0],
    ['no error at all', undefined, 0],
    ['an error that throws when it is read', hostileError, 0],
  ])('%s moves the probability to %d', async (_name, thrown, probability) => {
    const tracker = createFairTracker(options);
    await expect(tracker.run('a', () => Promise.reject(thrown as Error))).rejects.toBe(thrown);
    expect(tracker.peek('a').probability).toBe(probability);
  });

  test('a custom classifier decides, with the cost', async () => {
    const tracker = createFairTracker(options);
    const classify = (settled: PromiseSettledResult<number>) =>
      settled.status === 'fulfilled' && settled.value > 400 ? 'failure' : 'success';
    await tracker.run('a', () => 429, { classify, cost: 5 });
    expect(tracker.peek('a').probability).toBe(0.2);
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('no body');
      },
    ],
    ['rejects', async () => await Promise.reject(new Error('no body'))],
    ['says something else', () => 'fine'],
  ])(
    'a classifier that %s affects neither value nor error, and is reported once',
    async (_name, classify) => {
      const error = vi.fn();
      const tracker = createFairTracker(options, { logger: { ...silentLogger, error } });
      const runOptions = { classify: classify as unknown as () => 'ignore' };
      expect(await tracker.run('a', () => 42, runOptions)).toBe(42);
      const busy = { status: 429 };
      const call = tracker.run('a', () => Promise.reject(busy as unknown as Error), runOptions);
      await expect(call).rejects.toBe(busy);
      expect(tracker.peek('a').probability).toBe(0);
      expect(error).toHaveBeenCalledOnce();
    },
  );

  test('a throttled flow gets an error with the delay, and the function is not called', async () => {
    const tracker = createFairTracker(options);
    await block(tracker, 'a');
    const call = tracker.run('a', () => expect.unreachable());
    await expect(call).rejects.toMatchObject({
      code: 'throttled',
      retryable: true,
      details: { retryAfterMs: 30_000 },
    });
  });

  test('F40 a refusal by another tracker is not a failure', async () => {
    const outer = createFairTracker(options);
    const inner = createFairTracker(options);
    await block(inner, 'a');
    const call = outer.run('a', () => inner.run('a', () => expect.unreachable()));
    await expect(call).rejects.toMatchObject({ code: 'throttled' });
    expect(outer.peek('a').probability).toBe(0);
  });

  test('in shadow mode the function is called and its outcome is not reported', async () => {
    const tracker = createFairTracker({ ...options, shadow: true });
    await block(tracker, 'a');
    expect(await tracker.run('a', () => 'served')).toBe('served');
    expect(tracker.peek('a').probability).toBe(1);
  });
});
