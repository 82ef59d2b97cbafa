// Which seeds a namespace has in Redis, how large they are, and how they are removed. The list is a set under
// the tracker's own tag: the keys of a seed live in another slot, and no script may touch both.
import { SynclineError } from '@syncline/kernel';
import { fairLimits } from '../limits.js';
import type { Namespace, SeedInfo } from '../state/fair-store.js';
import type { RedisConnection, RedisDeps } from './redis-connection.js';
import { seedKeys, trackerKeys } from './redis-keys.js';
import { texts } from './redis-reply.js';
import { timeToLiveMs } from './shared-epochs.js';

export interface SeedRegisterDeps extends RedisDeps {
  readonly connection: RedisConnection;
  readonly nowMs: (() => number) | undefined;
}

export interface SeedCounters {
  readonly n: number;
  readonly life: string;
}

export class SeedRegister {
  readonly #deps: SeedRegisterDeps;
  /** When a seed was last put on the list, by our monotonic clock. */
  readonly #listedAtMs = new Map<string, number>();

  constructor(deps: SeedRegisterDeps) {
    this.#deps = deps;
  }

  /** Once per window the list is told again, so that it lives as long as the seeds do. */
  isListed(namespace: Namespace, seed: bigint): boolean {
    const listedAtMs = this.#listedAtMs.get(seedKeys(namespace, seed).meta);
    if (listedAtMs === undefined) return false;
    return this.#deps.clock.monotonicMs() - listedAtMs < namespace.windowMs;
  }

  async list(namespace: Namespace, seed: bigint): Promise<void> {
    const { connection, clock } = this.#deps;
    const { seeds } = trackerKeys(namespace);
    await Promise.all([
      connection.call('SADD', [seeds, String(seed)]),
      connection.call('PEXPIRE', [seeds, timeToLiveMs(namespace)]),
    ]);
    this.#listedAtMs.set(seedKeys(namespace, seed).meta, clock.monotonicMs());
  }

  /** Anyone may make up a seed of the default namespace. */
  async checkRoom(namespace: Namespace, seed: bigint): Promise<void> {
    if (namespace.name !== '') return;
    const { connection } = this.#deps;
    const { seeds } = trackerKeys(namespace);
    const [isKnown, count] = await Promise.all([
      connection.call('SISMEMBER', [seeds, String(seed)]),
      connection.call('SCARD', [seeds]),
    ]);
    const { value } = fairLimits.defaultSeedsMax;
    if (Number(isKnown) === 1 || Number(count) < value) return;
    throw new SynclineError(
      'limit-exceeded',
      `the default namespace in Redis has ${Number(count)} seeds, and ${value} is the most. Old ones go after three windows.`,
      { details: { limit: 'defaultSeedsMax' } },
    );
  }

  async all(namespace: Namespace): Promise<readonly bigint[]> {
    const reply = await this.#deps.connection.call('SMEMBERS', [trackerKeys(namespace).seeds]);
    return texts(reply).flatMap((seed) => (seed === undefined ? [] : [BigInt(seed)]));
  }

  async counters(namespace: Namespace): Promise<ReadonlyMap<bigint, SeedCounters>> {
    const counters = new Map<bigint, SeedCounters>();
    for (const seed of await this.all(namespace)) {
      const { meta } = seedKeys(namespace, seed);
      const [n, life] = texts(await this.#deps.connection.call('HMGET', [meta, 'n', 'e']));
      if (life !== undefined) counters.set(seed, { n: Number(n), life });
    }
    return counters;
  }

  /** One that has expired is left out. */
  async infos(namespace: Namespace): Promise<readonly SeedInfo[]> {
    const infos: SeedInfo[] = [];
    for (const seed of await this.all(namespace)) {
      const info = await this.#info(namespace, seed);
      if (info !== undefined) infos.push(info);
    }
    return infos;
  }

  async #info(namespace: Namespace, seed: bigint): Promise<SeedInfo | undefined> {
    const { connection } = this.#deps;
    const { meta } = seedKeys(namespace, seed);
    const [changedMs] = texts(await connection.call('HMGET', [meta, 't']));
    if (changedMs === undefined) return undefined;
    const nowMs = this.#deps.nowMs?.() ?? (await this.redisMs());
    return {
      seed,
      cellsCount: await this.#countCells(namespace, seed),
      idleMs: Math.max(0, nowMs - Number(changedMs)),
    };
  }

  /** Removes all keys of a seed; returns how many cells it had. Of several who try, one counts them. */
  async remove(namespace: Namespace, seed: bigint): Promise<number> {
    const { connection } = this.#deps;
    const { meta, rows, row } = seedKeys(namespace, seed);
    this.#listedAtMs.delete(meta);
    const removed = await connection.call('SREM', [trackerKeys(namespace).seeds, String(seed)]);
    const cellsCount = await this.#countCells(namespace, seed);
    const ids = texts(await connection.call('SMEMBERS', [rows]));
    await connection.call('UNLINK', [meta, rows, ...ids.map((id) => row(id ?? ''))]);
    return Number(removed) === 1 ? cellsCount : 0;
  }

  async #countCells(namespace: Namespace, seed: bigint): Promise<number> {
    const { connection } = this.#deps;
    const { rows, row } = seedKeys(namespace, seed);
    const ids = texts(await connection.call('SMEMBERS', [rows]));
    const lengths = await Promise.all(ids.map((id) => connection.call('HLEN', [row(id ?? '')])));
    return lengths.reduce<number>((sum, length) => sum + Number(length) / 2, 0);
  }

  async redisMs(): Promise<number> {
    const [seconds, micros] = texts(await this.#deps.connection.call('TIME', [])).map(Number);
    return (seconds ?? 0) * 1000 + Math.floor((micros ?? 0) / 1000);
  }
}
