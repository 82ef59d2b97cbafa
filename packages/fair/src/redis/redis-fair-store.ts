// Shared cells in Redis: any number of services, or of instances, over one state.
//
// Calls for a seed run one after another, each repeated under its sequence number until its outcome is known or
// the budget is used up. If the namespace is watched, an answer is returned once every earlier change was
// delivered to the watcher, so that a copy that is overwritten by both stays correct.
//
// F5   Within an epoch no delta is applied twice, whatever is cut off and resent.
// F13  All stores give the same cells for the same operations.
import { assert } from '@syncline/kernel';
import { type CellDeltas, type Cells, copyColumns, createCells, NO_CELLS } from '../cells.js';
import type { Applied, ChangeId, FairStore, Namespace, SeedInfo } from '../state/fair-store.js';
import { type ChangePart, partsOfDeltas, partsOfView } from './change-batch.js';
import { NamespaceFeed } from './namespace-feed.js';
import type { RedisSource } from './redis-client.js';
import { type Answer, RedisConnection, type RedisDeps, text } from './redis-connection.js';
import { trackerKeys } from './redis-keys.js';
import { RedisSubscriber } from './redis-subscriber.js';
import { ScriptCalls } from './script-calls.js';
import type { SeedChange } from './seed-change.js';
import { readSeed, type SeedReading, visibleCells } from './seed-reader.js';
import { SeedRegister } from './seed-register.js';
import { SharedEpochs } from './shared-epochs.js';

export type RedisFairStoreOptions = RedisSource & {
  /** How changes by others arrive. Default `pubsub`; `poll` checks every `pollIntervalMs`. */
  readonly fanOut?: 'pubsub' | 'poll';
  /** Default 1000. */
  readonly pollIntervalMs?: number;
  /** How long a failed change is retried before its error is returned. Default 1000. */
  readonly retryBudgetMs?: number;
};

export interface RedisFairStoreDeps extends RedisDeps {
  /** Replaces the clock of Redis, in whole ms, for tests and evaluations that bring their own. */
  readonly scriptNowMs?: () => number;
}

export interface RedisFairStore extends FairStore {
  readonly shared: SharedEpochs;
  watch(namespace: Namespace, onChange: (change: Applied) => void): { close(): void };
  /** The newest window that any instance writes; undefined if there is none. */
  activeSeed(namespace: Namespace): Promise<bigint | undefined>;
  /** Wall time of Redis, in ms since 1970. */
  redisNowMs(): Promise<number>;
}

export function createRedisFairStore(
  options: RedisFairStoreOptions,
  deps: RedisFairStoreDeps,
): RedisFairStore {
  return new SeedsInRedis(deps, options);
}

class SeedsInRedis implements RedisFairStore {
  readonly shared: SharedEpochs;
  readonly #deps: RedisDeps & { readonly nowMs: (() => number) | undefined };
  readonly #options: RedisFairStoreOptions;
  readonly #connection: RedisConnection;
  readonly #register: SeedRegister;
  readonly #calls: ScriptCalls;
  readonly #feeds = new Map<string, NamespaceFeed>();
  /** Identifies us in what we publish, and in changes without an id. */
  readonly #origin: string;
  #subscriber: RedisSubscriber | undefined;
  #ownSeq = 0;

  constructor(deps: RedisFairStoreDeps, options: RedisFairStoreOptions) {
    this.#options = options;
    this.#deps = { ...deps, nowMs: deps.scriptNowMs };
    this.#origin = `~${Buffer.from(deps.random.bytes(9)).toString('base64url')}`;
    this.#connection = new RedisConnection(deps, options);
    const { retryBudgetMs = 1_000 } = options;
    const shell = { ...this.#deps, connection: this.#connection };
    this.shared = new SharedEpochs(shell, { retryBudgetMs });
    this.#register = new SeedRegister({ ...shell, epochs: this.shared });
    this.#calls = new ScriptCalls(
      { ...shell, register: this.#register },
      { origin: this.#origin, retryBudgetMs },
    );
  }

  applyDelta(
    namespace: Namespace,
    seed: bigint,
    deltas: CellDeltas,
    id?: ChangeId,
  ): Promise<Applied> {
    const parts = partsOfDeltas(deltas, namespace.rule.policy === 'sum');
    return this.#change(namespace, seed, parts, id);
  }

  joinView(namespace: Namespace, seed: bigint, cells: Cells): Promise<Applied> {
    const parts = partsOfView(cells, namespace.rule.policy === 'sum');
    return this.#change(namespace, seed, parts, undefined);
  }

  async getSeed(namespace: Namespace, seed: bigint): Promise<Cells> {
    const read = async () => (await this.#calls.repeated(() => this.#read(namespace, seed))).value;
    const feed = this.#feeds.get(namespace.name);
    const cells =
      feed === undefined
        ? (await this.#calls.inTurn(namespace, seed, read)).cells
        : await feed.read(seed, read);
    return visibleCells(namespace, cells);
  }

  async evictBefore(namespace: Namespace, seed: bigint): Promise<number> {
    this.#feeds.get(namespace.name)?.dropBefore(seed);
    const { value: all } = await this.#calls.repeated(() => this.#register.all(namespace));
    let cellsCount = 0;
    for (const known of all) if (known < seed) cellsCount += await this.#remove(namespace, known);
    return cellsCount;
  }

  async seeds(namespace: Namespace): Promise<readonly SeedInfo[]> {
    await this.shared.loadEpoch(namespace);
    const { value } = await this.#calls.repeated(() => this.#register.infos(namespace));
    return value;
  }

  async forget(namespace: Namespace, seed: bigint): Promise<void> {
    await this.#remove(namespace, seed);
  }

  watch(namespace: Namespace, onChange: (change: Applied) => void): { close(): void } {
    assert(!this.#feeds.has(namespace.name), 'a namespace has one watcher');
    const { fanOut = 'pubsub', pollIntervalMs = 1_000 } = this.#options;
    if (fanOut === 'pubsub') this.#subscriber ??= new RedisSubscriber(this.#deps, this.#options);
    const feed = new NamespaceFeed(
      {
        ...this.#deps,
        subscriber: this.#subscriber,
        origin: this.#origin,
        readSeed: (seed) => this.#read(namespace, seed),
        inTurn: (seed, task) => this.#calls.inTurn(namespace, seed, task),
        readCounters: () => this.#register.counters(namespace),
        onNewIncarnation: (seed) => void this.#keysStartedOver(namespace, seed),
      },
      { namespace, pollIntervalMs, onChange },
    );
    this.#feeds.set(namespace.name, feed);
    return {
      close: () => {
        feed.close();
        if (this.#feeds.get(namespace.name) === feed) this.#feeds.delete(namespace.name);
      },
    };
  }

  async activeSeed(namespace: Namespace): Promise<bigint | undefined> {
    const read = () => this.#connection.call('GET', [trackerKeys(namespace).active]);
    const active = text((await this.#calls.repeated(read)).value) ?? '';
    return /^\d{1,20}$/.test(active) ? BigInt(active) : undefined;
  }

  async redisNowMs(): Promise<number> {
    if (this.#deps.nowMs !== undefined) return this.#deps.nowMs();
    return (await this.#calls.repeated(() => this.#register.redisMs())).value;
  }

  async close(): Promise<void> {
    for (const feed of this.#feeds.values()) feed.close();
    this.#feeds.clear();
    this.#subscriber?.close();
    await this.#connection.close();
  }

  async #change(
    namespace: Namespace,
    seed: bigint,
    parts: readonly ChangePart[],
    id: ChangeId | undefined,
  ): Promise<Applied> {
    if (parts.length === 0) return { result: 'applied', seed, cells: NO_CELLS };
    this.#ownSeq += 1;
    const ownId = { clientId: this.#origin, seq: this.#ownSeq };
    const answers = await this.#calls.inTurn(namespace, seed, async () => {
      const all: Answer<SeedChange>[] = [];
      for (const [index, changes] of parts.entries()) {
        const part = { part: index + 1, parts: parts.length };
        all.push(await this.#calls.apply({ namespace, seed, id: id ?? ownId, changes, ...part }));
      }
      return all;
    });
    return await this.#deliverAnswers(namespace, seed, answers);
  }

  async #deliverAnswers(
    namespace: Namespace,
    seed: bigint,
    answers: readonly Answer<SeedChange>[],
  ): Promise<Applied> {
    const feed = this.#feeds.get(namespace.name);
    const isSeen = ({ value }: Answer<SeedChange>) => value.origin === 'duplicate';
    const isDuplicate = answers.every((answer) => isSeen(answer) && !answer.wasRepeated);
    const result = isDuplicate ? 'duplicate' : 'applied';
    const cells = isDuplicate ? NO_CELLS : joinCells(answers.map(({ value }) => value.cells));
    if (feed === undefined) return { result, seed, cells };
    const isWhole = answers.length === 1 && !answers.some(isSeen);
    const [first] = answers;
    if (isWhole && first !== undefined) {
      return new Promise((resolve) =>
        feed.answered(seed, first.value, (isIncluded) =>
          resolve({ result, seed, cells: isIncluded ? NO_CELLS : cells }),
        ),
      );
    }
    // The numbers of some changes are unknown, or others came in between: read what is stored now.
    await feed.repair(seed);
    return { result, seed, cells: NO_CELLS };
  }

  #read(namespace: Namespace, seed: bigint): Promise<SeedReading> {
    const deps = { connection: this.#connection, nowMs: this.#deps.nowMs };
    return readSeed(deps, namespace, seed);
  }

  /** If everything was lost, watchers are notified to read everything. Otherwise only this seed had expired. */
  async #keysStartedOver(namespace: Namespace, seed: bigint): Promise<void> {
    if (await this.shared.keysLost(namespace)) return;
    await this.#feeds.get(namespace.name)?.restart(seed);
  }

  #remove(namespace: Namespace, seed: bigint): Promise<number> {
    this.#feeds.get(namespace.name)?.drop(seed);
    return this.#calls.inTurn(namespace, seed, async () => {
      const remove = () => this.#register.remove(namespace, seed);
      return (await this.#calls.repeated(remove)).value;
    });
  }
}

function joinCells(all: readonly Cells[]): Cells {
  const [only] = all;
  if (all.length === 1 && only !== undefined) return only;
  const joined = createCells(all.reduce((sum, { count }) => sum + count, 0));
  for (const cells of all) {
    copyColumns<Cells>(cells, joined, joined.count);
    joined.count += cells.count;
  }
  return joined;
}
