import { afterEach, describe, expect, test } from 'vitest';
import { OpenStores } from '../conformance/open-stores.js';
import { createJobManager } from './create-job-manager.js';
import { errorMessage, warningMessage } from './status-message.js';

const stores = new OpenStores();
afterEach(() => stores.close());

const open = () =>
  createJobManager(
    { store: stores.create(), jobId: 'nightly', taskIndex: 0, numTasks: 1 },
    { statuses: { diskFull: -20 } },
  );

const throwing = {
  get message(): string {
    throw new Error('not even that');
  },
};

describe('what a helper writes', () => {
  test('status and message', async () => {
    await using job = await open();
    const tag = 'ingest';
    const written = [
      await job.setStarted({ tag }),
      await job.setStarted({ tag, message: 'from row 100' }),
      await job.setWarning('slow disk', { tag }),
      await job.setError(new Error('no route'), { tag }),
      await job.setError('no room', { tag, status: -7 }),
      await job.setError('no room', { tag, status: 'diskFull' }),
      await job.setFinished({ tag }),
      await job.setFinished({ tag, message: '100 rows' }),
    ].map(({ state }) => [state.status, state.message]);
    expect(written).toEqual([
      [1, '🟢 Started'],
      [1, 'from row 100'],
      [-2, '🟡 slow disk'],
      [-1, '🔴 no route'],
      [-7, '🔴 no room'],
      [-20, '🔴 no room'],
      [2_147_483_647, '⚫ Finished'],
      [2_147_483_647, '100 rows'],
    ]);
  });

  test.each([0, 1, -2, 2_147_483_647, -2_147_483_649, -1.5, Number.NaN])(
    'J20 setError refuses the status %d',
    async (status) => {
      await using job = await open();
      await expect(job.setError('x', { tag: 'ingest', status })).rejects.toMatchObject({
        code: 'invalid-argument',
        details: { field: 'status' },
      });
    },
  );

  test.each([
    ['an error', new TypeError('wrong'), 'wrong'],
    ['an error without a message', new RangeError(), 'RangeError'],
    ['a text', 'plain', 'plain'],
    ['a number', 42, '42'],
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['an object', { a: 1 }, '{"a":1}'],
    ['an object with a message', { message: 'why' }, 'why'],
    ['an object without a prototype', Object.create(null), '{}'],
    ['an object that throws itself', throwing, 'a thrown object without text'],
    ['half of a pair', 'a\ud800b', 'a\ufffdb'],
  ])('setError takes %s', (_what, thrown, text) => {
    expect(errorMessage(thrown)).toBe(`🔴 ${text}`);
  });

  test('setError includes the causes too, once each and up to a limit', () => {
    const refused = new Error('connect ECONNREFUSED');
    const failed = new Error('fetch failed', { cause: refused });
    const text = 'page 12; caused by: fetch failed; caused by: connect ECONNREFUSED';
    expect(errorMessage(new Error('page 12', { cause: failed }))).toBe(`🔴 ${text}`);
    expect(warningMessage(failed)).toBe('🟡 fetch failed; caused by: connect ECONNREFUSED');
    const quoting = new Error('upload: connect ECONNREFUSED', { cause: refused });
    expect(errorMessage(quoting)).toBe('🔴 upload: connect ECONNREFUSED');
    expect(errorMessage(new Error('disk', { cause: 'full' }))).toBe('🔴 disk; caused by: full');
    refused.cause = failed;
    expect(errorMessage(failed)).toBe('🔴 fetch failed; caused by: connect ECONNREFUSED');
    const long = errorMessage(new Error('short', { cause: 'x'.repeat(5_000) }));
    expect(Buffer.byteLength(long)).toBe(4_096);
    Object.defineProperty(refused, 'cause', {
      get: () => {
        throw new Error('not even that');
      },
    });
    expect(errorMessage(refused)).toBe('🔴 connect ECONNREFUSED');
  });

  test('a long text is truncated to fit, in whole characters', () => {
    const message = errorMessage('😀'.repeat(2_000));
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(4_096);
    expect(Buffer.byteLength(message)).toBeGreaterThan(4_096 - 8);
    expect(message).toMatch(/^🔴 (😀)+…$/u);
    const exact = 'x'.repeat(4_096 - Buffer.byteLength('🔴 '));
    expect(errorMessage(exact)).toBe(`🔴 ${exact}`);
    expect(errorMessage(`${exact}x`)).toMatch(/x…$/);
  });
});
