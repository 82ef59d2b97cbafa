import { describe, expect, test } from 'vitest';
import type { FeedView } from '../index.js';
import {
  Feed,
  type FeedEvent,
  type FeedOptions,
  MemoryFeedStore,
  SynclineError,
} from '../index.js';
import { createSystemClock } from '../system-clock.js';

interface Change {
  readonly revision: number;
  readonly key: string;
}

class CountingStore extends MemoryFeedStore<Change> {
  viewsCount = 0;
  openCount = 0;

  constructor() {
    super({ logMax: 100, pageMax: 2, isInScope: () => true, bytesOf: () => 1 });
  }

  override async view(): Promise<FeedView<Change>> {
    this.viewsCount += 1;
    this.openCount += 1;
    let isOpen = true;
    const close = () => {
      if (isOpen) this.openCount -= 1;
      isOpen = false;
    };
    return { ...(await super.view()), close };
  }
}

function createFeed(options: FeedOptions = {}) {
  const store = new CountingStore();
  const feed = new Feed({ clock: createSystemClock(), store }, options);
  const commit = (...keys: string[]) => {
    const first = store.revision() + 1;
    const changes = keys.map((key, index) => ({ revision: first + index, key }));
    for (const change of changes) store.commit(change);
    feed.publish(changes);
  };
  return { store, feed, commit };
}

async function kinds(stream: AsyncIterator<FeedEvent<Change>>, count: number): Promise<string[]> {
  const seen: string[] = [];
  while (seen.length < count) {
    const { value, done } = await stream.next();
    if (done) return [...seen, 'end'];
    seen.push(value.kind === 'gap' ? `gap ${value.reason}` : value.kind);
  }
  return seen;
}

describe('a subscriber that is behind', () => {
  test('K24 reads the ring and opens no view while the ring has what it needs', async () => {
    const { store, feed, commit } = createFeed({ ring: { changesMax: 10 } });
    commit('a', 'b', 'a');
    const stream = feed.subscribe({ scope: undefined, after: 1 })[Symbol.asyncIterator]();
    expect(await kinds(stream, 4)).toEqual(['synced', 'change', 'change', 'live']);
    expect(store.viewsCount).toBe(0);
    commit(...'abcdefghijklm');
    const late = feed.subscribe({ scope: undefined, after: 1 })[Symbol.asyncIterator]();
    await kinds(late, 2);
    expect(store.viewsCount).toBe(1);
  });

  test('K22 gets the latest of each key and no gap if the history is only the latest', async () => {
    const { store, feed, commit } = createFeed({ history: 'latest' });
    commit('a', 'b', 'a', 'a');
    store.compact(0);
    const stream = feed.subscribe({ scope: undefined, after: 1 })[Symbol.asyncIterator]();
    expect(await kinds(stream, 4)).toEqual(['synced', 'change', 'change', 'live']);
  });

  test('K20 continues a replay where it was interrupted', async () => {
    const { feed, commit } = createFeed();
    commit('a', 'b', 'c', 'd', 'b');
    const first = feed.subscribe({ scope: undefined });
    await kinds(first[Symbol.asyncIterator](), 2);
    expect(first.position).toEqual({ revision: 3, isReplaying: true });
    const rest = feed.subscribe({ scope: undefined, after: 3, seen: 'replay' });
    expect(await kinds(rest[Symbol.asyncIterator](), 3)).toEqual([
      'snapshot',
      'snapshot',
      'synced',
    ]);
  });
});

describe('what a feed sends besides changes', () => {
  test('stale and live, a reset, and that it was all deleted', async () => {
    const { feed, commit } = createFeed();
    commit('a');
    const stream = feed.subscribe({ scope: undefined })[Symbol.asyncIterator]();
    expect(await kinds(stream, 2)).toEqual(['snapshot', 'synced']);
    feed.markStale({ sinceMs: 1, attempt: 1 });
    expect(await kinds(stream, 1)).toEqual(['stale']);
    feed.markLive();
    expect(await kinds(stream, 1)).toEqual(['live']);
    feed.reset();
    expect(await kinds(stream, 3)).toEqual(['gap reset', 'snapshot', 'synced']);
    feed.endDeleted();
    expect(await kinds(stream, 2)).toEqual(['gap deleted', 'end']);
    expect(feed.subscribersCount).toBe(0);
  });

  test('K22 only the missing changes, when the store moves ahead of what was published', async () => {
    const { store, feed, commit } = createFeed();
    commit('a');
    const live = feed.subscribe({ scope: undefined });
    const stream = live[Symbol.asyncIterator]();
    expect(await kinds(stream, 2)).toEqual(['snapshot', 'synced']);
    const replaying = feed.subscribe({ scope: undefined })[Symbol.asyncIterator]();
    const fresh = feed.subscribe({ scope: undefined });
    await kinds(replaying, 1);
    store.commit({ key: 'b', revision: 2 });
    store.commit({ key: 'b', revision: 3 });
    feed.skipAhead();
    expect(await kinds(stream, 2)).toEqual(['change', 'change']);
    expect(live.position).toEqual({ revision: 3, isReplaying: false });
    expect(await kinds(replaying, 2)).toEqual(['snapshot', 'synced']);
    expect(await kinds(fresh[Symbol.asyncIterator](), 3)).toEqual([
      'snapshot',
      'snapshot',
      'synced',
    ]);
    store.commit({ key: 'a', revision: 4 });
    store.commit({ key: 'a', revision: 5 });
    store.compact(0);
    feed.skipAhead();
    expect(await kinds(stream, 3)).toEqual(['gap compacted', 'change', 'live']);
    commit('b');
    expect(await kinds(stream, 1)).toEqual(['change']);
  });

  test('why it failed', async () => {
    const { feed } = createFeed();
    const stream = feed.subscribe({ scope: undefined })[Symbol.asyncIterator]();
    expect(await kinds(stream, 1)).toEqual(['synced']);
    feed.fail(new SynclineError('unavailable', 'gone'));
    await expect(stream.next()).rejects.toMatchObject({ code: 'unavailable' });
    expect(await kinds(stream, 1)).toEqual(['end']);
  });

  test('what its store throws', async () => {
    const { store, feed } = createFeed();
    store.view = async () => {
      throw new SynclineError('corrupt', 'a bit has flipped');
    };
    const stream = feed.subscribe({ scope: undefined })[Symbol.asyncIterator]();
    await expect(stream.next()).rejects.toMatchObject({ code: 'corrupt' });
    expect(feed.subscribersCount).toBe(0);
  });

  test('K23 one pull at a time: a second one while one waits is an error', async () => {
    const { feed } = createFeed();
    const stream = feed.subscribe({ scope: undefined })[Symbol.asyncIterator]();
    await stream.next();
    const waiting = stream.next();
    await expect(stream.next()).rejects.toMatchObject({ code: 'conflict' });
    feed.close();
    expect((await waiting).done).toBe(true);
  });
});

test('a subscription that is closed while it opens a view leaves none open, at whatever step', async () => {
  const outcomes = new Set<number>();
  for (let steps = 0; steps < 40; steps += 1) {
    const { store, feed, commit } = createFeed();
    commit(...'abc');
    store.compact(1); // so that a gap comes before the first page
    const subscription = feed.subscribe({ scope: undefined, after: 1 });
    const stream = subscription[Symbol.asyncIterator]();
    await stream.next();
    const next = stream.next();
    for (let step = 0; step < steps; step += 1) await Promise.resolve();
    subscription.close();
    await next;
    await new Promise((resolve) => setImmediate(resolve));
    expect([steps, store.openCount]).toEqual([steps, 0]);
    outcomes.add(store.viewsCount);
  }
  expect(outcomes).toEqual(new Set([0, 1]));
});
