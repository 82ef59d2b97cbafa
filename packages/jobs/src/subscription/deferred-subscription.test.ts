import { SynclineError } from '@syncline/kernel';
import { describe, expect, test } from 'vitest';
import type { Cursor } from '../job-event.js';
import { deferSubscription } from './deferred-subscription.js';
import { createFeedRig, settle, take } from './testing/feed-rig.js';

describe('a subscription that is opened at its first pull', () => {
  test('reads what it opens, and ends it', async () => {
    const { write, subscribe, quota } = createFeedRig();
    write('0a');
    const after = 'i1:0' as Cursor;
    const subscription = deferSubscription(async () => subscribe({ after }), { after });
    expect([quota.count, subscription.cursor]).toEqual([0, after]);
    const stream = subscription[Symbol.asyncIterator]();
    expect(await take(stream, 2)).toEqual(['synced i1:0 all resumed', 'change 0a i1:1']);
    expect([quota.count, subscription.cursor]).toEqual([1, 'i1:1']);
    await expect(subscription.batches()[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'conflict',
    });
    await stream.return?.();
    expect(quota.count).toBe(0);
  });

  test('throws at the first pull what is wrong', async () => {
    const open = () => {
      throw new SynclineError('not-found', 'there is no such job');
    };
    const batches = deferSubscription(open, {}).batches()[Symbol.asyncIterator]();
    await expect(batches.next()).rejects.toMatchObject({ code: 'not-found' });
  });

  test('J21 that is ended while it opens opens nothing and is no error', async () => {
    const { subscribe, quota } = createFeedRig();
    const abort = new AbortController();
    let isTold = false;
    const slow = async (signal: AbortSignal) => {
      await settle();
      isTold = signal.aborted;
      return subscribe();
    };
    const stream = deferSubscription(slow, { signal: abort.signal })[Symbol.asyncIterator]();
    const end = take(stream, 1);
    abort.abort();
    expect([await end, isTold, quota.count]).toEqual([['end'], true, 0]);
    const late = deferSubscription(slow, { signal: abort.signal })[Symbol.asyncIterator]();
    expect(await take(late, 1)).toEqual(['end']);
    const disposed = deferSubscription(slow, {});
    await disposed[Symbol.asyncDispose]();
    expect(await take(disposed[Symbol.asyncIterator](), 1)).toEqual(['end']);
  });
});
