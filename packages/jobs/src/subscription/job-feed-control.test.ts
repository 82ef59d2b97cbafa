import { SynclineError } from '@syncline/kernel';
import { ManualTimers } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import type { Cursor, StoreSubscribeOptions } from '../job-event.js';
import { createFeedRig, settle, take } from './testing/feed-rig.js';

describe('a store out of reach', () => {
  test('is told as stale behind what was published, and live once it is back', async () => {
    const { feed, write, subscribe } = createFeedRig();
    const stream = subscribe()[Symbol.asyncIterator]();
    expect(await take(stream, 1)).toEqual(['synced i1:0 all']);
    const next = take(stream, 2);
    await settle();
    write('0a');
    feed.markStale({ sinceMs: 7, attempt: 1 });
    expect(await next).toEqual(['change 0a i1:1', 'stale 7 1']);
    feed.markStale({ sinceMs: 9, attempt: 2 });
    expect(await take(stream, 1)).toEqual(['stale 9 2']);
    write('1a');
    feed.markLive();
    expect(await take(stream, 2)).toEqual(['change 1a i1:2', 'live i1:2']);
  });

  test('is told to who subscribes meanwhile, also while the replay waits, and not to who slept through it', async () => {
    let letRead = () => {};
    const isReadable = new Promise<void>((resolve) => {
      letRead = resolve;
    });
    const { feed, write, subscribe } = createFeedRig({ beforeRead: () => isReadable });
    write('0a');
    const sleeper = subscribe()[Symbol.asyncIterator]();
    feed.markStale({ sinceMs: 7, attempt: 1 });
    const stream = subscribe()[Symbol.asyncIterator]();
    expect(await take(stream, 1)).toEqual(['stale 7 1']);
    feed.markLive();
    letRead();
    expect(await take(stream, 3)).toEqual(['snapshot 0a i1:1~', 'synced i1:1 all', 'live i1:1']);
    expect(await take(sleeper, 2)).toEqual(['snapshot 0a i1:1~', 'synced i1:1 all']);
  });

  test('that shows another past has its replay timed anew, and a resume is no replay', async () => {
    const timers = new ManualTimers();
    const observed: unknown[] = [];
    const metrics = { add() {}, set() {}, observe: (...what: unknown[]) => observed.push(what) };
    const { feed, source, write, subscribe } = createFeedRig({ clock: timers.clock, metrics });
    const name = 'syncline_jobs_replay_duration_seconds';
    write('0a');
    const stream = subscribe()[Symbol.asyncIterator]();
    await take(stream, 2);
    expect(observed).toEqual([[name, 0]]);
    timers.fireAll(); // a minute passes
    await take(subscribe({ after: 'i1:1' as Cursor })[Symbol.asyncIterator](), 1);
    expect(observed).toHaveLength(1);
    source.forget();
    source.state(2, 'c');
    feed.reset('i2');
    expect(await take(stream, 1)).toEqual(['gap reset 1-1']);
    timers.fireAll();
    await take(stream, 2);
    expect(observed).toEqual([
      [name, 0],
      [name, 60],
    ]);
  });

  test('that shows another past resets its subscribers', async () => {
    const { feed, source, write, subscribe } = createFeedRig();
    write('0a', '1a');
    const subscription = subscribe();
    const [live, replaying, fresh] = [subscription, subscribe(), subscribe()].map((each) =>
      each[Symbol.asyncIterator](),
    );
    if (!live || !replaying || !fresh) throw new Error('three streams');
    await take(live, 3);
    await take(replaying, 1);
    source.forget();
    source.state(2, 'c');
    feed.reset('i2');
    expect(subscription.cursor).toBe('i1:2');
    const anew = ['snapshot 2c i2:1~', 'synced i2:1 all'];
    expect(await take(live, 3)).toEqual(['gap reset 2-2', ...anew]);
    expect(await take(replaying, 3)).toEqual(['gap reset 1-1', ...anew]);
    expect(await take(fresh, 2)).toEqual(anew);
    write('3d');
    expect(await take(live, 1)).toEqual(['change 3d i2:2']);
  });

  test('for good ends its subscribers with an error that has their cursor', async () => {
    const { feed, write, subscribe } = createFeedRig();
    const subscription = subscribe();
    const stream = subscription[Symbol.asyncIterator]();
    await take(stream, 1);
    const next = take(stream, 1);
    await settle();
    write('0a');
    feed.fail(new SynclineError('unavailable', 'out of reach', { details: { attempts: 5 } }));
    expect(await next).toEqual(['change 0a i1:1']);
    await expect(stream.next()).rejects.toMatchObject({
      code: 'unavailable',
      retryable: true,
      details: { attempts: 5, cursor: 'i1:1' },
    });
    expect(await take(stream, 1)).toEqual(['end']);
    expect(() => subscribe()).toThrow('closed');
  });
});

describe('a job that is deleted', () => {
  test('ends its subscribers with a gap, behind what was published', async () => {
    const { feed, quota, write, subscribe } = createFeedRig();
    write('0a', '1a', '2a');
    const [live, replaying, fresh] = [subscribe(), subscribe(), subscribe()].map((each) =>
      each[Symbol.asyncIterator](),
    );
    if (!live || !replaying || !fresh) throw new Error('three streams');
    await take(live, 4);
    const last = take(live, 1);
    await settle();
    await take(replaying, 1);
    write('0a');
    feed.endDeleted();
    expect(await last).toEqual(['change 0a i1:4']);
    expect(await take(live, 2)).toEqual(['gap deleted 4-4', 'end']);
    expect(await take(replaying, 2)).toEqual(['gap deleted 1-1', 'end']);
    expect(await take(fresh, 2)).toEqual(['gap deleted 0-0', 'end']);
    expect(quota.count).toBe(0);
  });

  test('ends also who lags, though its buffer was dropped before', async () => {
    const { feed, write, subscribe } = createFeedRig();
    const stream = subscribe({ buffer: { maxEvents: 4 } })[Symbol.asyncIterator]();
    await take(stream, 1);
    const next = take(stream, 1);
    await settle();
    write('0a');
    await next;
    write('0a', '0a', '0a', '0a', '0a');
    expect(await take(stream, 5)).toHaveLength(5);
    const last = take(stream, 2);
    await settle();
    feed.endDeleted();
    expect(await last).toEqual(['gap deleted 6-6', 'end']);
  });
});

describe('subscribing', () => {
  test('J20 beyond the limits is refused, and ending one makes room', async () => {
    const small = createFeedRig({ subscribersMax: 1 });
    const one = small.subscribe();
    const limit = (name: string) =>
      expect.objectContaining({ code: 'limit-exceeded', details: { limit: name } });
    expect(() => small.subscribe()).toThrow(limit('subscribersPerJobMax'));
    await one[Symbol.asyncDispose]();
    await small.subscribe()[Symbol.asyncDispose]();
    const store = createFeedRig({ storeSubscribersMax: 1 });
    store.subscribe();
    expect(() => store.subscribe()).toThrow(limit('subscribersMax'));
    store.feed.close();
    expect(store.quota.count).toBe(0);
    expect(() => store.subscribe()).toThrow('closed');
    expect(store.quota.count).toBe(0);
  });

  test.each<[string, Partial<StoreSubscribeOptions>]>([
    ['after', { after: 'i1' as Cursor }],
    ['after', { after: 'i1:-1' as Cursor }],
    ['buffer.maxEvents', { buffer: { maxEvents: 3 } }],
    ['buffer.maxEvents', { buffer: { maxEvents: 65_537 } }],
    ['buffer.maxBytes', { buffer: { maxBytes: 65_535 } }],
    ['buffer.maxBytes', { buffer: { maxBytes: 16 * 1024 * 1024 + 1 } }],
  ])('J20 with a bad %s is refused', (field, options) => {
    const { subscribe, quota } = createFeedRig();
    expect(() => subscribe(options)).toThrow(
      expect.objectContaining({ code: 'invalid-argument', details: { field } }),
    );
    expect(quota.count).toBe(0);
  });

  test('J21 ends without an error when the signal fires, whatever it waits for', async () => {
    const { subscribe, quota } = createFeedRig({ beforeRead: () => new Promise(() => {}) });
    const abort = new AbortController();
    const ends = take(subscribe({ signal: abort.signal })[Symbol.asyncIterator](), 1);
    await settle();
    abort.abort();
    expect(await ends).toEqual(['end']);
    const late = subscribe({ signal: abort.signal })[Symbol.asyncIterator]();
    expect(await take(late, 1)).toEqual(['end']);
    expect(quota.count).toBe(0);
  });

  test('J21 lets go at once of a pull that waits when the loop is left', async () => {
    const { subscribe, quota } = createFeedRig();
    const batches = subscribe().batches()[Symbol.asyncIterator]();
    await batches.next();
    const waiting = batches.next();
    await batches.return?.();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(quota.count).toBe(0);
  });
});
