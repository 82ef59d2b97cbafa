// The storage service: buckets in Redis for programs with their own tracker. Updates are collected per cell and
// committed in batches, one at a time per seed; `recv` returns changes made here or elsewhere.
//
// While Redis is unreachable, `update` rejects immediately and nothing is kept for later: the caller continues
// from its own state, and the `outcome` of the error says whether to resend.
import {
  createSystemClock,
  createSystemRandom,
  refuseUnknownOptions,
  SynclineError,
  silentMetrics,
} from '@syncline/kernel';
import type { Decay } from '../decay.js';
import { fairLimits } from '../limits.js';
import type { Namespace } from '../state/fair-store.js';
import { checkTrackerName } from '../state/state-options.js';
import { refuseUnless } from '../tuning.js';
import { warningLogger } from '../warning-logger.js';
import {
  createRedisFairStore,
  type RedisFairStore,
  type RedisFairStoreDeps,
  type RedisFairStoreOptions,
} from './redis-fair-store.js';
import {
  bucketsOf,
  checkUpdates,
  closedError,
  PendingUpdates,
  ReceivedBuckets,
  type RespBucket,
  type Update,
} from './storage-buckets.js';

export interface FairStorageService extends AsyncDisposable {
  /** Starts fetching all cells of a seed; joins a fetch that is in flight. */
  request(seed: bigint): void;
  /** Waits until something arrives, then returns everything. One caller at a time. */
  recv(signal?: AbortSignal): Promise<RespBucket[]>;
  /** Resolves when all is committed. Rejects with `outcome`: `not-applied`, or `unknown`. */
  update(updates: readonly Update[]): Promise<void>;
  /** Rejects pending calls. What was not committed is lost. */
  close(): Promise<void>;
}

export type FairStorageOptions = RedisFairStoreOptions & {
  /** Shares under a name, with decay by the clock of Redis. Default: no name, no decay. */
  readonly tracker?: { readonly name: string; readonly decay: Decay };
  /** Keys expire after three windows. Default 300,000. */
  readonly windowMs?: number;
  /** Cells that may wait for Redis, and those that may wait for `recv`: two structures. Default 6000. */
  readonly cellsMax?: number;
};

const STORAGE_OPTIONS = {
  url: true,
  client: true,
  fanOut: true,
  pollIntervalMs: true,
  retryBudgetMs: true,
  tracker: true,
  windowMs: true,
  cellsMax: true,
} as const;
const CELLS_MAX = 6_000;
const RETRY_BUDGET_MS = 5_000;
/** The seeds of a tracker: two that are written, and the next. */
const SEEDS_KEPT = 3;

/**
 * Throws `invalid-argument` if the options are invalid. Without `deps` it uses the system's clock and
 * randomness, reports problems as Node warnings and exports no metrics.
 */
export function createFairStorageService(
  options: FairStorageOptions,
  given: Partial<RedisFairStoreDeps> = {},
): FairStorageService {
  const deps: RedisFairStoreDeps = {
    ...given,
    clock: given.clock ?? createSystemClock(),
    random: given.random ?? createSystemRandom(),
    logger: given.logger ?? warningLogger,
    metrics: given.metrics ?? silentMetrics,
  };
  const { tracker, windowMs = 300_000 } = options;
  refuseUnknownOptions(options, 'createFairStorageService', STORAGE_OPTIONS);
  const { windowMsMin, windowMsMax } = fairLimits;
  refuseUnless(windowMs >= windowMsMin.value && windowMs <= windowMsMax.value, 'windowMs', {
    value: windowMs,
    wanted: `${windowMsMin.value} to ${windowMsMax.value}`,
  });
  if (tracker !== undefined) checkTrackerName(tracker.name);
  const namespace: Namespace = {
    name: tracker?.name ?? '',
    rule: tracker?.decay ?? { policy: 'sum' },
    shape: undefined,
    windowMs,
  };
  const store = createRedisFairStore({ retryBudgetMs: RETRY_BUDGET_MS, ...options }, deps);
  return new BucketsInRedis(
    { ...deps, store },
    { namespace, cellsMax: options.cellsMax ?? CELLS_MAX },
  );
}

interface StorageDeps extends RedisFairStoreDeps {
  readonly store: RedisFairStore;
}

class BucketsInRedis implements FairStorageService {
  readonly #deps: StorageDeps;
  readonly #namespace: Namespace;
  readonly #pending: PendingUpdates;
  readonly #received: ReceivedBuckets;
  readonly #committing = new Set<bigint>();
  readonly #fetching = new Set<bigint>();
  /** Recently fetched or updated; fetched again when Redis is back. */
  readonly #recent = new Set<bigint>();
  readonly #clientId: string;
  #seq = 0;
  #isLost = false;
  #isClosed = false;

  constructor(
    deps: StorageDeps,
    options: { readonly namespace: Namespace; readonly cellsMax: number },
  ) {
    const { namespace, cellsMax } = options;
    this.#deps = deps;
    this.#namespace = namespace;
    this.#clientId = Buffer.from(deps.random.bytes(12)).toString('hex');
    this.#pending = new PendingUpdates(cellsMax);
    this.#received = new ReceivedBuckets(cellsMax, (cellsCount) => {
      const text = 'unread cells dropped; call recv more often, or raise cellsMax';
      deps.logger.warn(text, { slice: 'fair', cells: cellsCount, cellsMax });
    });
    deps.store.watch(namespace, ({ seed, cells }) => this.#received.put(seed, bucketsOf(cells)));
    deps.store.shared.onReachable((isReachable) => {
      this.#isLost = !isReachable;
      if (isReachable) for (const seed of [...this.#recent]) this.request(seed);
    });
  }

  request(seed: bigint): void {
    this.#remember(seed);
    if (this.#isClosed || this.#fetching.has(seed)) return;
    this.#fetching.add(seed);
    void this.#fetch(seed);
  }

  recv(signal?: AbortSignal): Promise<RespBucket[]> {
    return this.#received.take(signal);
  }

  async update(updates: readonly Update[]): Promise<void> {
    checkUpdates(updates);
    if (this.#isClosed) throw closedError();
    if (this.#isLost)
      throw new SynclineError('unavailable', 'Redis is unreachable; the update was not sent');
    const results: Promise<void>[] = [];
    const added = this.#pending.add(updates, () => {
      let settle: (error: Error | undefined) => void = () => {};
      results.push(
        new Promise((resolve, reject) => {
          settle = (error) => (error === undefined ? resolve() : reject(error));
        }),
      );
      return (error) => settle(error);
    });
    if (added === 'full')
      throw new SynclineError(
        'overloaded',
        'too many cells or callers are waiting for Redis; try again later',
        {
          details: { limit: 'cellsMax' },
        },
      );
    for (const { seed } of updates) if (this.#pending.has(seed)) void this.#commit(seed);
    this.#measure();
    await allCommitted(results);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#received.close();
    for (const seed of this.#pending.seeds)
      for (const waiter of this.#pending.take(seed)?.waiters ?? []) waiter(closedError());
    await this.#deps.store.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** One batch in flight per seed; updates that arrive in the meantime are in the next. */
  async #commit(seed: bigint): Promise<void> {
    if (this.#committing.has(seed)) return;
    this.#committing.add(seed);
    this.#remember(seed);
    await Promise.resolve(); // updates of this turn share a batch
    for (let batch = this.#pending.take(seed); batch !== undefined; ) {
      this.#seq += 1;
      const id = { clientId: this.#clientId, seq: this.#seq };
      let error: SynclineError | undefined;
      try {
        const change = await this.#deps.store.applyDelta(this.#namespace, seed, batch.deltas, id);
        if (change.cells.count > 0) this.#received.put(seed, bucketsOf(change.cells));
      } catch (thrown) {
        error = SynclineError.from(thrown);
      }
      for (const waiter of batch.waiters) waiter(error);
      this.#measure();
      batch = this.#pending.take(seed);
    }
    this.#committing.delete(seed);
  }

  async #fetch(seed: bigint): Promise<void> {
    try {
      const cells = await this.#deps.store.getSeed(this.#namespace, seed);
      if (!this.#isClosed) this.#received.put(seed, bucketsOf(cells));
    } catch (thrown) {
      // It is fetched when Redis is back, with the other seeds in use.
      const error = SynclineError.from(thrown).message;
      this.#deps.logger.warn('could not fetch a seed from Redis', { slice: 'fair', error });
    } finally {
      this.#fetching.delete(seed);
    }
  }

  #remember(seed: bigint): void {
    this.#recent.delete(seed);
    this.#recent.add(seed);
    const [oldest] = this.#recent;
    if (this.#recent.size > SEEDS_KEPT && oldest !== undefined) this.#recent.delete(oldest);
  }

  #measure(): void {
    this.#deps.metrics.set('syncline_fair_redis_queue_cells', this.#pending.cellsCount);
  }
}

/** `not-applied` only if no part was: of several seeds one may have been committed. */
async function allCommitted(results: readonly Promise<void>[]): Promise<void> {
  const settled = await Promise.allSettled(results);
  const failed = settled.find((result) => result.status === 'rejected');
  if (failed === undefined) return;
  const error = SynclineError.from(failed.reason);
  const isPartial = settled.some(
    (result) =>
      result.status === 'fulfilled' || SynclineError.from(result.reason).outcome === 'unknown',
  );
  if (!isPartial || error.outcome === 'unknown') throw error;
  const { code, retryable, details } = error;
  const message = 'part of the update was committed, or may have been, and part was not';
  throw new SynclineError(code, message, { retryable, details, outcome: 'unknown', cause: error });
}
