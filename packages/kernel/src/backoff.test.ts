import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { backoffMs, type Clock, retry, SynclineError } from './index.js';
import { createSeededRandom } from './seeded-random.js';

const random = createSeededRandom('backoff');
const options = { initialMs: 100, maxMs: 5_000 };

describe('backoff', () => {
  test('the delay doubles up to its limit, and jitter stays below it', () => {
    fc.assert(
      fc.property(fc.nat({ max: 2000 }), (attempt) => {
        const boundMs = Math.min(5_000, 100 * 2 ** attempt);
        const full = backoffMs(attempt, options, random);
        const half = backoffMs(attempt, { ...options, jitter: 'half' }, random);
        expect(full >= 0 && full < boundMs).toBe(true);
        expect(half >= boundMs / 2 && half < boundMs).toBe(true);
      }),
    );
  });
});

describe('K8 retry', () => {
  /** Records sleeps instead of sleeping. */
  function createDeps() {
    const slept: number[] = [];
    const clock = { sleep: async (ms: number) => void slept.push(ms) } as unknown as Clock;
    return { slept, deps: { clock, random } };
  }
  const failing = (...errors: SynclineError[]) => {
    const left = [...errors];
    return async () => {
      const error = left.shift();
      if (error) throw error;
      return 'done';
    };
  };
  const unavailable = new SynclineError('unavailable', 'gone');
  const unknown = new SynclineError('timeout', 'no answer', { outcome: 'unknown' });

  test('retries while the error is retryable', async () => {
    const { deps, slept } = createDeps();
    const answer = retry(deps, { ...options, attempts: 3 }, failing(unavailable, unavailable));
    expect(await answer).toBe('done');
    expect(slept).toHaveLength(2);
  });

  test('gives up after the last attempt, or immediately if the error is not retryable', async () => {
    const { deps, slept } = createDeps();
    const all = failing(unavailable, unavailable, unavailable);
    await expect(retry(deps, { ...options, attempts: 3 }, all)).rejects.toBe(unavailable);
    const final = new SynclineError('fenced', 'replaced');
    await expect(retry(deps, { ...options, attempts: 3 }, failing(final))).rejects.toBe(final);
    expect(slept).toHaveLength(2);
  });

  test('an attempt that may have been applied makes the whole outcome unknown', async () => {
    const { deps } = createDeps();
    const answer = retry(deps, { ...options, attempts: 2 }, failing(unknown, unavailable));
    await expect(answer).rejects.toMatchObject({ code: 'unavailable', outcome: 'unknown' });
  });

  test('an abort during a pause keeps the outcome of the attempts before it', async () => {
    const abort = new AbortController();
    const { deps } = createDeps();
    const clock = {
      sleep: async () => {
        abort.abort();
        throw new SynclineError('aborted', 'the pause was aborted');
      },
    } as unknown as Clock;
    const answer = retry({ ...deps, clock }, { ...options, attempts: 5 }, failing(unknown));
    await expect(answer).rejects.toMatchObject({ code: 'aborted', outcome: 'unknown' });
  });

  test('a bug is not retried', async () => {
    const { deps, slept } = createDeps();
    const mistake = new TypeError('undefined is not a function');
    const attempt = async () => {
      throw mistake;
    };
    await expect(retry(deps, { ...options, attempts: 5 }, attempt)).rejects.toBe(mistake);
    expect(slept).toEqual([]);
  });

  test('an abort ends the retries without another attempt', async () => {
    const { deps } = createDeps();
    const abort = new AbortController();
    abort.abort();
    const attempt = failing(unavailable);
    const answer = retry(deps, { ...options, attempts: 5, signal: abort.signal }, attempt);
    await expect(answer).rejects.toBe(unavailable);
    expect(await attempt()).toBe('done');
  });
});
