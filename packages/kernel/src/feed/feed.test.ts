import { describe, expect, test } from 'vitest';
import { Feed, type FeedEvent, type FeedSubscribeOptions, MemoryFeedStore } from '../index.js';
import { createSystemClock } from '../system-clock.js';

interface Change {
  readonly revision: number;
  readonly key: string;
}

function createFeed(options: { subscribersMax?: number } = {}) {
  let looks = 0;
  const store = new MemoryFeedStore<Change>({
    logMax: 100,
    pageMax: 10,
    isInScope: () => {
      looks += 1;
      return true;
    },
    bytesOf: () => 1,
  });
  const feed = new Feed({ clock: createSystemClock(), store }, options);
  const commit = (...keys: string[]) => {
    const changes = keys.map((key) => {
      const change = { revision: store.revision() + 1, key };
      store.commit(change);
      return change;
    });
    feed.publish(changes);
  };
  const subscribe = (more: Partial<FeedSubscribeOptions<void>> = {}) =>
    feed.subscribe({ scope: undefined, ...more });
  return { store, feed, commit, subscribe, looks: () => looks };
}

async function take(stream: AsyncIterator<FeedEvent<Change>>, count: number): Promise<string[]> {
  const lines: string[] = [];
  while (lines.length < count) {
    const { value, done } = await stream.next();
    if (done) return [...lines, 'end'];
    lines.push(line(value));
  }
  return lines;
}

/** A subscriber that waits for something new is live; the change then arrives through its buffer. */
async function turnLive(
  stream: AsyncIterator<FeedEvent<Change>>,
  commit: () => void,
): Promise<void> {
  await take(stream, 1);
  const first = take(stream, 1);
  await new Promise((resolve) => setImmediate(resolve));
  commit();
  await first;
}

function line(event: FeedEvent<Change>): string {
  switch (event.kind) {
    case 'snapshot':
    case 'change':
      return `${event.kind} ${event.change.key}${event.change.revision}`;
    case 'synced':
      return `synced ${event.revision}${event.resumed ? ' resumed' : ''}`;
    case 'live':
      return `live ${event.revision}`;
    case 'stale':
      return `stale ${event.attempt}`;
    case 'gap':
      return `gap ${event.reason} ${event.fromRevision}-${event.toRevision}`;
  }
}

describe('a subscriber', () => {
  test('K21 sees the latest change of each key, synced, then live changes', async () => {
    const { commit, subscribe } = createFeed();
    commit('a', 'b', 'a');
    const stream = subscribe()[Symbol.asyncIterator]();
    expect(await take(stream, 3)).toEqual(['snapshot b2', 'snapshot a3', 'synced 3']);
    const next = take(stream, 2);
    commit('c', 'a');
    expect(await next).toEqual(['change c4', 'change a5']);
  });

  test('K21 gets synced at 0 from an empty store', async () => {
    const stream = createFeed().subscribe()[Symbol.asyncIterator]();
    expect(await take(stream, 1)).toEqual(['synced 0']);
  });

  test('K20 resumes after any revision that the store still has', async () => {
    const { commit, subscribe } = createFeed();
    commit('a', 'b', 'c', 'a');
    for (let after = 0; after <= 4; after += 1) {
      const seen = await take(subscribe({ after })[Symbol.asyncIterator](), 6 - after);
      const rest = ['a1', 'b2', 'c3', 'a4'].slice(after).map((change) => `change ${change}`);
      expect(seen).toEqual([`synced ${after} resumed`, ...rest, 'live 4']);
    }
  });

  test('K22 that resumes after a compacted revision gets a gap and the latest change of each key', async () => {
    const { store, commit, subscribe } = createFeed();
    commit('a', 'b', 'a', 'b', 'c');
    store.compact(1);
    const stream = subscribe({ after: 1 })[Symbol.asyncIterator]();
    expect(await take(stream, 6)).toEqual([
      'synced 1 resumed',
      'gap compacted 1-5',
      'change a3',
      'change b4',
      'change c5',
      'live 5',
    ]);
  });

  test('K22 that resumes ahead of the store gets a reset and a snapshot', async () => {
    const { commit, subscribe } = createFeed();
    commit('a');
    const stream = subscribe({ after: 9 })[Symbol.asyncIterator]();
    expect(await take(stream, 3)).toEqual(['gap reset 9-9', 'snapshot a1', 'synced 1']);
  });

  test('K22 misses nothing that is committed while it catches up', async () => {
    const { commit, subscribe } = createFeed();
    commit(...'abcdefghijkl');
    const stream = subscribe({ after: 0 })[Symbol.asyncIterator]();
    await take(stream, 2);
    commit('x');
    expect((await take(stream, 13)).slice(-3)).toEqual(['change l12', 'change x13', 'live 13']);
  });

  test('K22 never sees a change that the store does not have: publishing before the commit is a bug', () => {
    const { feed } = createFeed();
    expect(() => feed.publish([{ revision: 1, key: 'a' }])).toThrow('first the store');
  });

  test('K23 that stalls is served from the store again (block) or coalesced', async () => {
    for (const overflow of ['block', 'coalesce'] as const) {
      const { commit, subscribe } = createFeed();
      const subscription = subscribe({ overflow, buffer: { eventsMax: 2 } });
      const stream = subscription[Symbol.asyncIterator]();
      await turnLive(stream, () => commit('a'));
      commit('a', 'b', 'a');
      const expected =
        overflow === 'block'
          ? ['change a2', 'change b3', 'change a4']
          : ['gap overflow 1-4', 'change b3', 'change a4'];
      expect(await take(stream, 3)).toEqual(expected);
      expect(subscription.position).toEqual({ revision: 4, isReplaying: false });
    }
  });

  test('K23 that stalls under fail gets what is buffered, then the error with its cursor', async () => {
    const { commit, subscribe, feed } = createFeed();
    const stream = subscribe({ overflow: 'fail', buffer: { eventsMax: 2 } })[
      Symbol.asyncIterator
    ]();
    await turnLive(stream, () => commit('a'));
    commit('b', 'c', 'd', 'e');
    expect(await take(stream, 2)).toEqual(['change b2', 'change c3']);
    await expect(stream.next()).rejects.toMatchObject({
      code: 'overflow',
      details: { revision: 3 },
    });
    expect(feed.subscribersCount).toBe(0);
  });

  test('K23 that stalls costs one cursor: nothing is buffered or read for it', async () => {
    const { commit, subscribe, looks } = createFeed();
    const stream = subscribe({ buffer: { eventsMax: 4 } })[Symbol.asyncIterator]();
    await turnLive(stream, () => commit('a'));
    commit(...'abcde');
    const looksWhenFull = looks();
    for (let i = 0; i < 1000; i += 1) commit('a');
    expect(looks()).toBe(looksWhenFull);
  });

  test('that closes drops undelivered changes, and its cursor shows it', async () => {
    const { commit, subscribe } = createFeed();
    commit('a', 'b', 'c');
    const subscription = subscribe({ after: 0 });
    const stream = subscription[Symbol.asyncIterator]();
    expect(await take(stream, 2)).toEqual(['synced 0 resumed', 'change a1']);
    subscription.close();
    expect(await take(stream, 1)).toEqual(['end']);
    expect(subscription.position).toEqual({ revision: 1, isReplaying: false });
  });

  test('K23 that reads batches under fail can resume from its cursor after the error', async () => {
    const { commit, subscribe } = createFeed();
    const subscription = subscribe({ overflow: 'fail', buffer: { eventsMax: 2 } });
    const batches = subscription.batches();
    const next = async () => (await batches.next()).value?.map(line);
    expect(await next()).toEqual(['synced 0']);
    const first = next();
    await new Promise((resolve) => setImmediate(resolve));
    commit('a');
    expect(await first).toEqual(['change a1']);
    commit('b', 'c', 'd', 'e');
    commit('f');
    expect(await next()).toEqual(['change b2', 'change c3']);
    expect(subscription.position?.revision).toBe(3);
    await expect(batches.next()).rejects.toMatchObject({ details: { revision: 3 } });
    expect(subscription.position?.revision).toBe(3);
  });

  test.each([0, -1, 1.5, Number.NaN])('cannot be read in batches of %d', (max) => {
    const { subscribe, feed } = createFeed();
    const subscription = subscribe();
    expect(() => subscription.batches(max)).toThrow('positive integer');
    expect(feed.subscribersCount).toBe(0);
  });

  test('ends at once if its signal has already fired', async () => {
    const { subscribe, feed } = createFeed();
    const subscription = subscribe({ signal: AbortSignal.abort() });
    expect(feed.subscribersCount).toBe(0);
    expect(await take(subscription[Symbol.asyncIterator](), 1)).toEqual(['end']);
  });

  test.each([Number.NaN, -1, 0.5, 2 ** 53])('cannot resume after %d', (after) => {
    expect(() => createFeed().subscribe({ after })).toThrow('integer');
  });

  test('ends without an error when its signal fires or the feed closes', async () => {
    const { feed, subscribe } = createFeed();
    const abort = new AbortController();
    const [one, two] = [subscribe({ signal: abort.signal }), subscribe()].map((s) =>
      s[Symbol.asyncIterator](),
    );
    if (!one || !two) throw new Error('two streams');
    await Promise.all([take(one, 1), take(two, 1)]);
    const ends = Promise.all([take(one, 1), take(two, 1)]);
    abort.abort();
    feed.close();
    expect(await ends).toEqual([['end'], ['end']]);
    expect(() => subscribe()).toThrow('closed');
  });

  test('above the limit is refused, and leaving a loop frees a place', async () => {
    const { subscribe, feed } = createFeed({ subscribersMax: 1 });
    const first = subscribe();
    expect(() => subscribe()).toThrow('1 subscribers');
    for await (const event of first) if (event.kind === 'synced') break;
    expect(feed.subscribersCount).toBe(0);
    await using second = subscribe();
    expect(second.position).toBeUndefined();
  });

  test('can be read once', async () => {
    const subscription = createFeed().subscribe();
    await take(subscription[Symbol.asyncIterator](), 1);
    await expect(subscription.batches().next()).rejects.toMatchObject({ code: 'conflict' });
  });
});
