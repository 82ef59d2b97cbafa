// All changes of a namespace made by others, in order per seed, for one watcher. Uses `pubsub`, or polls the
// counters at an interval (`poll`) if that is configured or Redis does not allow pub/sub.
import type { Metrics, Timer } from '@syncline/kernel';
import { type Cells, NO_CELLS } from '../cells.js';
import type { FairMetricName } from '../metrics-list.js';
import type { Applied, Namespace } from '../state/fair-store.js';
import type { RedisDeps } from './redis-connection.js';
import { channelPattern, seedOfChannel } from './redis-keys.js';
import type { RedisSubscriber } from './redis-subscriber.js';
import { readSeedChange, type SeedChange } from './seed-change.js';
import { type Delivery, SeedFeed } from './seed-feed.js';
import type { SeedReading } from './seed-reader.js';

export interface NamespaceFeedDeps extends RedisDeps {
  readonly metrics: Metrics<FairMetricName>;
  /** Undefined: poll. */
  readonly subscriber: RedisSubscriber | undefined;
  /** Identifies us in what we publish. */
  readonly origin: string;
  readSeed(seed: bigint): Promise<SeedReading>;
  /** Runs tasks of a seed one at a time. */
  inTurn<T>(seed: bigint, task: () => Promise<T>): Promise<T>;
  /** Counters of the seeds that exist. */
  readCounters(): Promise<
    ReadonlyMap<bigint, { readonly n: number; readonly incarnation: string }>
  >;
  /** The keys of a seed were lost: `restart`, unless everything is read anyway. */
  onNewIncarnation(seed: bigint): void;
}

export interface NamespaceFeedOptions {
  readonly namespace: Namespace;
  readonly pollIntervalMs: number;
  onChange(change: Applied): void;
}

export class NamespaceFeed {
  readonly #deps: NamespaceFeedDeps;
  readonly #options: NamespaceFeedOptions;
  readonly #feeds = new Map<bigint, SeedFeed>();
  /** Seeds whose repair is due and has not begun. */
  readonly #repairing = new Set<bigint>();
  /** Seeds that started over: the next read replaces everything delivered so far. */
  readonly #restarted = new Set<bigint>();
  readonly #subscription: { close(): void } | undefined;
  #pollTimer: Timer | undefined;
  #isLive = false;
  #isPolling = false;
  #isClosed = false;

  constructor(deps: NamespaceFeedDeps, options: NamespaceFeedOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#subscription = deps.subscriber?.listen(channelPattern(options.namespace), {
      onMessage: (channel, message) => this.#onMessage(channel, message),
      onLive: () => {
        this.#isPolling = false;
        this.#setLive(true);
      },
      onLost: () => this.#setLive(false),
      onRefused: () => this.#startPolling(),
    });
    if (deps.subscriber === undefined) this.#startPolling();
  }

  /** Our own change: `deliver` is called once all earlier ones were delivered. */
  answered(seed: bigint, change: SeedChange, deliver: (isIncluded: boolean) => void): void {
    this.#feed(seed).offer({
      n: change.n,
      incarnation: change.incarnation,
      isAnswer: true,
      deliver,
    });
  }

  /** The whole seed, for a waiting caller who reads it with `readSeed`. */
  read(seed: bigint, readSeed: () => Promise<SeedReading>): Promise<Cells> {
    return this.#deps.inTurn(seed, async () => {
      const feed = this.#feed(seed);
      const { n, incarnation, cells } = await this.#reading(seed, feed, readSeed);
      if (incarnation === '') return cells;
      return await new Promise((resolve) => {
        const deliver = (isIncluded: boolean) => resolve(isIncluded ? NO_CELLS : cells);
        feed.snapshot({ n, incarnation, isAnswer: true, deliver });
      });
    });
  }

  /** Reads the seed and delivers all of it as a change. */
  repair(seed: bigint): Promise<void> {
    return this.#deps.inTurn(seed, async () => {
      this.#repairing.delete(seed);
      if (this.#isClosed) return;
      const feed = this.#feed(seed);
      const incarnationBefore = feed.incarnation;
      const readSeed = () => this.#deps.readSeed(seed);
      const { n, incarnation, cells } = await this.#reading(seed, feed, readSeed);
      const startsOver = this.#restarted.delete(seed);
      const deliver = () => this.#notify(seed, cells, startsOver);
      if (incarnation !== '') feed.snapshot({ n, incarnation, isAnswer: false, deliver });
      else if (startsOver) deliver();
      else if (incarnationBefore !== undefined && feed.incarnation === incarnationBefore)
        this.#lost(seed);
    });
  }

  /** It had expired or was removed: what was delivered is void. */
  restart(seed: bigint): Promise<void> {
    this.#restarted.add(seed);
    return this.#tryRepair(seed);
  }

  /** The seed is gone permanently. */
  drop(seed: bigint): void {
    this.#restarted.delete(seed);
    this.#dropFeed(seed);
  }

  dropBefore(seed: bigint): void {
    for (const known of [...this.#feeds.keys(), ...this.#restarted])
      if (known < seed) this.drop(known);
  }

  close(): void {
    this.#isClosed = true;
    this.#subscription?.close();
    this.#pollTimer?.cancel();
    for (const seed of this.#feeds.keys()) this.drop(seed);
  }

  #dropFeed(seed: bigint): void {
    this.#feeds.get(seed)?.close();
    this.#feeds.delete(seed);
  }

  #feed(seed: bigint): SeedFeed {
    const known = this.#feeds.get(seed);
    if (known !== undefined) return known;
    const feed = new SeedFeed(
      {
        clock: this.#deps.clock,
        onGap: (kind) => {
          if (kind === 'missed') this.#deps.metrics.add('syncline_fair_redis_gaps_total');
          void this.#tryRepair(seed);
        },
        onNewIncarnation: () => this.#deps.onNewIncarnation(seed),
      },
      this.#isLive,
    );
    this.#feeds.set(seed, feed);
    return feed;
  }

  /** The feed holds back changes in the meantime, and continues immediately if there is nothing to read. */
  async #reading(
    seed: bigint,
    feed: SeedFeed,
    readSeed: () => Promise<SeedReading>,
  ): Promise<SeedReading> {
    feed.beginReading();
    let hasCells = false;
    try {
      const reading = await readSeed();
      hasCells = reading.incarnation !== '';
      return reading;
    } finally {
      if (!hasCells) this.#endReading(seed, feed);
    }
  }

  /** A seed without any change needs no feed. */
  #endReading(seed: bigint, feed: SeedFeed): void {
    feed.endReading();
    if (feed.incarnation === undefined && this.#feeds.get(seed) === feed) this.#dropFeed(seed);
  }

  /** Its keys are gone: changes waiting for an earlier one would wait forever. */
  #lost(seed: bigint): void {
    this.#dropFeed(seed);
    this.#deps.onNewIncarnation(seed);
  }

  #onMessage(channel: string, message: Buffer): void {
    const { namespace } = this.#options;
    const seed = seedOfChannel(namespace, channel);
    if (seed === undefined) return;
    const change = this.#decodeChange(message);
    // Our own changes arrive as replies. If one was lost, the repeated call repairs it.
    if (change === undefined || change.origin === this.#deps.origin) return;
    const delivery: Delivery = {
      n: change.n,
      incarnation: change.incarnation,
      isAnswer: false,
      deliver: () => this.#notify(seed, change.cells),
    };
    this.#feed(seed).offer(delivery);
  }

  /** Anyone may publish; messages that are not our changes are ignored. */
  #decodeChange(message: Buffer): SeedChange | undefined {
    try {
      const { rule, shape } = this.#options.namespace;
      return readSeedChange(message, rule.policy === 'sum', shape);
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown.message : String(thrown);
      this.#deps.logger.warn('could not decode a change from Redis', { slice: 'fair', error });
      return undefined;
    }
  }

  #notify(seed: bigint, cells: Cells, startsOver = false): void {
    if (!this.#isClosed) this.#options.onChange({ result: 'applied', seed, cells, startsOver });
  }

  #setLive(isLive: boolean): void {
    this.#isLive = isLive;
    for (const feed of this.#feeds.values()) feed.setOrdered(isLive);
  }

  /** Again if the seed is being read: that read may have started too early. */
  async #tryRepair(seed: bigint): Promise<void> {
    if (this.#repairing.has(seed)) return;
    this.#repairing.add(seed);
    try {
      await this.repair(seed);
    } catch (thrown) {
      // Redis is unreachable. The feed retries, or is read when pub/sub is back.
      const error = thrown instanceof Error ? thrown.message : String(thrown);
      this.#deps.logger.debug('could not read a seed from Redis', { slice: 'fair', error });
    }
  }

  #startPolling(): void {
    if (this.#isPolling) return;
    this.#isPolling = true;
    this.#schedulePoll();
  }

  #schedulePoll(): void {
    this.#pollTimer?.cancel();
    if (this.#isClosed || !this.#isPolling) return;
    const { pollIntervalMs } = this.#options;
    this.#pollTimer = this.#deps.clock.setTimer(
      pollIntervalMs,
      () => void this.#poll().finally(() => this.#schedulePoll()),
      { unref: true },
    );
  }

  async #poll(): Promise<void> {
    try {
      const counters = await this.#deps.readCounters();
      for (const [seed, { n, incarnation }] of counters) {
        const feed = this.#feeds.get(seed);
        if (feed?.lastN !== n || feed.incarnation !== incarnation) await this.#tryRepair(seed);
      }
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown.message : String(thrown);
      this.#deps.logger.debug('could not poll Redis', { slice: 'fair', error });
    }
  }
}
