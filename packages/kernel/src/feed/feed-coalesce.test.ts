import { describe, expect, test, vi } from 'vitest';
import { Feed, type FeedEvent, type FeedOptions, MemoryFeedStore } from '../index.js';
import { createSystemClock } from '../system-clock.js';

interface Change {
  readonly revision: number;
  readonly key: string;
}
type Stream = AsyncIterator<FeedEvent<Change>>;

/** Scope: the keys that are wanted. */
function createFeed(options: FeedOptions) {
  const store = new MemoryFeedStore<Change, string>({
    logMax: 10_000,
    pageMax: 10,
    isInScope: (scope, { key }) => scope.includes(key),
    bytesOf: ({ key }) => (key === 'z' ? 1_000 : 1),
  });
  const feed = new Feed({ clock: createSystemClock(), store }, options);
  const commit = (keys: string) => {
    for (const key of keys) store.commit({ revision: store.revision() + 1, key });
    const first = store.revision() - keys.length + 1;
    feed.publish(Array.from(keys, (key, index) => ({ revision: first + index, key })));
  };
  const subscribe = (scope: string, after?: number): Stream =>
    feed
      .subscribe({
        scope,
        overflow: 'coalesce',
        buffer: { eventsMax: 4, bytesMax: 500 },
        ...(after !== undefined && { after }),
      })
      [Symbol.asyncIterator]();
  return { store, commit, subscribe };
}

async function take(stream: Stream, count: number): Promise<string[]> {
  const lines: string[] = [];
  while (lines.length < count) {
    const { value, done } = await stream.next();
    if (done) return [...lines, 'end'];
    if ('change' in value) lines.push(`${value.change.key}${value.change.revision}`);
    else lines.push(value.kind === 'gap' ? `gap ${value.reason}` : value.kind);
  }
  return lines;
}

async function openLive({ commit, subscribe }: ReturnType<typeof createFeed>, scope: string) {
  const stream = subscribe(scope);
  await take(stream, 1);
  const first = take(stream, 1);
  await new Promise((resolve) => setImmediate(resolve));
  commit(scope[0] ?? '');
  await first;
  return stream;
}

const RINGS = { 'the ring': { changesMax: 1_000 }, 'the store': { changesMax: 0 } };

describe('a subscriber that coalesces', () => {
  test('K24 needs no view, however far behind, while the latest of each key is in memory', async () => {
    const feed = createFeed({ ring: { changesMax: 10 } });
    const stream = await openLive(feed, 'abc');
    const view = vi.spyOn(feed.store, 'view');
    feed.commit(`b${'ac'.repeat(500)}`);
    expect(await take(stream, 5)).toEqual(['gap overflow', 'b2', 'a1001', 'c1002', 'live']);
    expect(view).not.toHaveBeenCalled();
    const others = Array.from({ length: 40 }, (_, index) => String.fromCharCode(1_000 + index));
    feed.commit(`abcabc${others.join('')}`);
    expect((await take(stream, 4)).slice(1)).toEqual(['a1006', 'b1007', 'c1008']);
    expect(view).toHaveBeenCalledOnce(); // more keys than the ring holds
  });

  test.each(Object.entries(RINGS))(
    'K22 K23 and is always slower than the writer stays close to it, reading %s',
    async (_, ring) => {
      const feed = createFeed({ ring });
      const stream = await openLive(feed, 'abc');
      feed.commit('abcabc');
      let gaps = 0;
      for (let pulls = 0; pulls < 300; pulls += 1) {
        const { value } = await stream.next();
        feed.commit('abcabc');
        if (value?.kind === 'gap') gaps += 1;
        if (value?.kind !== 'change') continue;
        // With two more keys, a gap may lie between it and the newest.
        expect(feed.store.revision() - value.change.revision).toBeLessThanOrEqual(7 * 6);
      }
      expect(gaps).toBeGreaterThan(10);
    },
  );

  test('K22 gets each change as long as its buffer would hold them', async () => {
    const feed = createFeed({ ring: { changesMax: 1_000 } });
    const stream = await openLive(feed, 'abc');
    feed.commit('abcabc');
    expect(await take(stream, 2)).toEqual(['gap overflow', 'a5']);
    feed.commit('aaaa');
    const each = ['b6', 'c7', 'a8', 'a9', 'a10', 'a11', 'live'];
    expect(await take(stream, 7)).toEqual(each);
    feed.commit('abcabc');
    expect(await take(stream, 2)).toEqual(['gap overflow', 'a15']);
    feed.commit('aaaaa');
    expect(await take(stream, 5)).toEqual(['b16', 'c17', 'gap overflow', 'a22', 'live']);
  });

  test('K22 counts bytes too', async () => {
    const feed = createFeed({ ring: { changesMax: 1_000 } });
    const stream = await openLive(feed, 'az');
    feed.commit('zaz');
    expect(await take(stream, 2)).toEqual(['gap overflow', 'a3']);
    feed.commit('zz');
    expect(await take(stream, 4)).toEqual(['z4', 'gap overflow', 'z6', 'live']);
  });

  test('K22 receives no gap while every skipped change is out of its scope', async () => {
    const feed = createFeed({ ring: { changesMax: 1_000 } });
    const stream = await openLive(feed, 'a');
    feed.commit('aaaaaa');
    expect(await take(stream, 2)).toEqual(['gap overflow', 'a7']);
    feed.commit('bbbbbbbba');
    expect(await take(stream, 2)).toEqual(['a16', 'live']);
  });

  test('K22 and resumes gets each change if it is behind by no more than its buffer, the latest otherwise', async () => {
    const feed = createFeed({ ring: { changesMax: 1_000 } });
    feed.commit('abcabcab');
    const near = feed.subscribe('abc', 4);
    expect(await take(near, 6)).toEqual(['synced', 'b5', 'c6', 'a7', 'b8', 'live']);
    const far = feed.subscribe('abc', 1);
    expect(await take(far, 6)).toEqual(['synced', 'gap overflow', 'c6', 'a7', 'b8', 'live']);
  });

  test('K22 and replays slowly gets the latest of what happened in the meantime', async () => {
    const feed = createFeed({ ring: { changesMax: 1_000 } });
    feed.commit('ab');
    const stream = feed.subscribe('abc');
    expect(await take(stream, 1)).toEqual(['a1']);
    feed.commit('cacaca');
    expect(await take(stream, 6)).toEqual(['b2', 'synced', 'gap overflow', 'c7', 'a8', 'live']);
  });
});
