import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  Feed,
  type FeedEvent,
  type FeedOverflow,
  type FeedPosition,
  type FeedSubscription,
  type FeedView,
  MemoryFeedStore,
  SynclineError,
} from '../index.js';
import { checkFeedComplete, checkFeedStream, ManualTimers } from '../testing.js';

interface Change {
  readonly revision: number;
  readonly key: string;
}
type Scope = 'all' | 'only-a';
type ReaderKind = readonly [Scope, FeedOverflow, 'events' | 'batches'];

/** One subscriber that may lose its connection and resume; its parts are checked as one stream. */
class Reader {
  readonly parts: FeedEvent<Change>[][] = [];
  readonly scope: Scope;
  readonly overflow: FeedOverflow;
  readonly reads: 'events' | 'batches';
  #isFailed = false;
  #subscription: FeedSubscription<Change, FeedEvent<Change>>;
  #iterator: AsyncIterator<readonly FeedEvent<Change>[]>;
  #isPulling = false;
  #position: FeedPosition | undefined;

  constructor(feed: Feed<Change, Scope>, [scope, overflow, reads]: ReaderKind) {
    this.scope = scope;
    this.overflow = overflow;
    this.reads = reads;
    [this.#subscription, this.#iterator] = this.#open(feed);
  }

  pull(): void {
    if (this.#isPulling || this.#isFailed) return;
    this.#isPulling = true;
    const part = this.parts.at(-1);
    this.#iterator.next().then(
      ({ value }) => {
        if (value) part?.push(...value);
        this.#isPulling = false;
      },
      (error: { code: string; details: { revision: number } }) => {
        expect(error.code).toBe('overflow');
        this.#isPulling = false;
        this.#isFailed = true;
      },
    );
  }

  /** Pulls until no more events come. */
  async drain(): Promise<'waiting' | 'failed'> {
    do {
      this.pull();
      await settle();
    } while (!this.#isPulling && !this.#isFailed);
    return this.#isFailed ? 'failed' : 'waiting';
  }

  /** Resuming is legal at any moment, even in the middle of a replay. */
  async reconnect(feed: Feed<Change, Scope>): Promise<void> {
    this.#subscription.close();
    await settle(); // a pull in flight may still return its event
    this.#position = this.#subscription.position ?? this.#position;
    this.#isFailed = false;
    this.#isPulling = false;
    [this.#subscription, this.#iterator] = this.#open(feed, this.#position);
  }

  #open(feed: Feed<Change, Scope>, position?: FeedPosition) {
    this.parts.push([]);
    const subscription = feed.subscribe({
      scope: this.scope,
      overflow: this.overflow,
      buffer: { eventsMax: 3, bytesMax: 30 },
      ...(position && {
        after: position.revision,
        seen: position.isReplaying ? ('replay' as const) : ('all' as const),
      }),
    });
    const stream = this.reads === 'batches' ? subscription.batches() : oneByOne(subscription);
    return [subscription, stream] as const;
  }
}

async function* oneByOne(events: AsyncIterable<FeedEvent<Change>>) {
  for await (const event of events) yield [event];
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

const readerIndex = fc.nat({ max: 3 });
const commands = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: step('commit', { key: fc.constantFrom('a', 'b', 'c') }) },
    { weight: 3, arbitrary: step('publish', {}) },
    { weight: 2, arbitrary: step('burst', { count: fc.integer({ min: 2, max: 6 }) }) },
    { weight: 1, arbitrary: step('skip', {}) },
    { weight: 6, arbitrary: step('pull', { reader: readerIndex }) },
    { weight: 4, arbitrary: step('drain', { reader: readerIndex }) },
    { weight: 1, arbitrary: step('reconnect', { reader: readerIndex }) },
    { weight: 1, arbitrary: step('compact', { keep: fc.nat({ max: 4 }) }) },
    { weight: 1, arbitrary: step('expire', {}) },
    { weight: 1, arbitrary: step('reopen', {}) },
    { weight: 3, arbitrary: step('settle', {}) },
  ),
  { maxLength: 80, size: 'max' },
);

function step<Name extends string, Model extends object>(
  name: Name,
  model: { [K in keyof Model]: fc.Arbitrary<Model[K]> },
): fc.Arbitrary<Model & { readonly do: Name }> {
  return fc.record(model).map((record) => ({ ...(record as Model), do: name }));
}

const readerKinds = fc.array(
  fc.tuple(
    fc.constantFrom<Scope>('all', 'only-a'),
    fc.constantFrom<FeedOverflow>('block', 'coalesce', 'fail'),
    fc.constantFrom('events' as const, 'batches' as const),
  ),
  { minLength: 1, maxLength: 4 },
);

const feedKinds = fc.record({
  before: fc.nat({ max: 6 }),
  ring: fc.record({ changesMax: fc.constantFrom(0, 2, 5), bytesMax: fc.constantFrom(25, 1000) }),
  liveIntervalMs: fc.constantFrom(10_000, Number.POSITIVE_INFINITY),
});

/** Reopening a store closes its views, as on a disk that was full. */
class ReopeningStore extends MemoryFeedStore<Change, Scope> {
  #openings = 0;

  constructor() {
    super({
      logMax: 1000,
      pageMax: 2,
      isInScope: (scope, { key }) => scope === 'all' || key === 'a',
      bytesOf: () => 10,
    });
  }

  reopen(): void {
    this.#openings += 1;
  }

  override async view(scope: Scope): Promise<FeedView<Change>> {
    const { latest, changes, ...view } = await super.view(scope);
    const opening = this.#openings;
    const lost = () => this.#openings !== opening;
    return {
      ...view,
      latest: (after) => pagesUntil(lost, latest(after)),
      changes: (after) => pagesUntil(lost, changes(after)),
    };
  }
}

async function* pagesUntil(lost: () => boolean, pages: AsyncIterable<readonly Change[]>) {
  for await (const page of pages) {
    if (lost()) throw new SynclineError('unavailable', 'the store was reopened');
    yield page;
  }
}

describe('the feed under random schedules', () => {
  test('K20 K21 K22 no gap, no duplicate, and synced in its place under any schedule', async () => {
    const reached = new Set<string>();
    await fc.assert(
      fc.asyncProperty(commands, readerKinds, feedKinds, async (list, kinds, feedKind) => {
        const store = new ReopeningStore();
        const history: Change[] = [];
        const unpublished: Change[] = [];
        const commit = (key: string) => {
          const change = { revision: history.length + 1, key };
          history.push(change);
          unpublished.push(change);
          store.commit(change);
        };
        for (let i = 0; i < feedKind.before; i += 1) commit('abc'[i % 3] ?? 'a');
        unpublished.length = 0; // the feed starts on a store that already has changes
        const timers = new ManualTimers();
        const feed = new Feed({ clock: timers.clock, store }, feedKind);
        const readers = kinds.map((kind) => new Reader(feed, kind));
        for (const command of list) {
          const reader = 'reader' in command ? readers[command.reader % readers.length] : undefined;
          if (command.do === 'commit') commit(command.key);
          if (command.do === 'publish') feed.publish(unpublished.splice(0));
          if (command.do === 'burst') {
            for (let i = 0; i < command.count; i += 1) commit('abc'[i % 3] ?? 'a');
            feed.publish(unpublished.splice(0));
          }
          if (command.do === 'skip') {
            unpublished.length = 0; // another process has committed them
            feed.skipAhead();
          }
          if (command.do === 'pull') reader?.pull();
          if (command.do === 'drain') await reader?.drain();
          if (command.do === 'reconnect') await reader?.reconnect(feed);
          if (command.do === 'compact') store.compact(command.keep);
          if (command.do === 'expire') timers.fireAll();
          if (command.do === 'reopen') store.reopen();
          if (command.do === 'settle') await settle();
        }
        await settle();
        feed.publish(unpublished.splice(0));
        await settle();
        for (const reader of readers) {
          for (let tries = 0; tries < 100 && (await reader.drain()) === 'failed'; tries += 1) {
            await reader.reconnect(feed);
          }
          const inScope = history.filter((change) => store.isInScope(reader.scope, change));
          for (const event of reader.parts.flat()) {
            reached.add(event.kind === 'gap' ? `gap ${event.reason}` : event.kind);
          }
          expect(checkFeedStream(inScope, reader.parts)).toEqual([]);
          expect(checkFeedComplete(inScope, reader.parts)).toEqual([]);
        }
        feed.close();
        await settle();
        expect([feed.subscribersCount, timers.pending]).toEqual([0, 0]);
      }),
      { numRuns: 1000 },
    );
    expect([...reached].toSorted((a, b) => a.localeCompare(b))).toEqual([
      'change',
      'gap compacted',
      'gap overflow',
      'live',
      'snapshot',
      'synced',
    ]);
  });
});
