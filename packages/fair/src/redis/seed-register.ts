// Which seeds a namespace has in Redis, how large they are, and how they are removed. The list is a set under
// the tracker's own tag: the keys of a seed are in another slot, and no script may access both.
//
// A seed is listed before it is first changed, by a script that counts, so that concurrent callers cannot
// exceed the limit of the default tracker. The same script raises `:active` for a tracker, and creates the
// epoch of the default tracker, which has no hello.
import { type Clock, SynclineError } from '@syncline/kernel';
import { fairLimits } from '../limits.js';
import type { Namespace, SeedInfo } from '../state/fair-store.js';
import { defineScript, type RedisConnection, type RedisDeps, texts } from './redis-connection.js';
import { seedKeys, trackerKeys } from './redis-keys.js';
import type { SeedChange } from './seed-change.js';
import { drawEpoch, type SharedEpochs, timeToLiveMs } from './shared-epochs.js';

/**
 * KEYS 1 seeds, 2 epoch, 3 active; ARGV 1 seed, 2 time to live in ms, 3 most seeds or '', 4 an epoch or ''.
 * Answers the count of seeds if there is no room, or '', and the epoch. Longer numbers are larger.
 */
const listScript = defineScript(`
local call, seed, ttl = redis.call, ARGV[1], ARGV[2]
if ARGV[3] ~= '' and call('SISMEMBER', KEYS[1], seed) == 0 then
  local count = call('SCARD', KEYS[1])
  if count >= tonumber(ARGV[3]) then return { tostring(count), '' } end
end
call('SADD', KEYS[1], seed)
call('PEXPIRE', KEYS[1], ttl)
if ARGV[4] == '' then
  local known = call('GET', KEYS[3]) or ''
  if #known < #seed or (#known == #seed and known < seed) then call('SET', KEYS[3], seed, 'PX', ttl) end
  return { '', '' }
end
call('SET', KEYS[2], ARGV[4], 'NX')
call('PEXPIRE', KEYS[2], ttl)
return { '', call('GET', KEYS[2]) }
`);

/** KEYS 1 meta, 2 rows, 3 clients, then rows; ARGV their ids. The last rows take the rest with them. */
const removeScript = defineScript(`
local fieldsCount = 0
for index = 4, #KEYS do
  fieldsCount = fieldsCount + redis.call('HLEN', KEYS[index])
  redis.call('UNLINK', KEYS[index])
  redis.call('SREM', KEYS[2], ARGV[index - 3])
end
local isGone = redis.call('SCARD', KEYS[2]) == 0
if isGone then redis.call('UNLINK', KEYS[1], KEYS[3]) end
return { tostring(fieldsCount), isGone and 'gone' or '' }
`);

/** KEYS rows; ARGV 1 time to live in ms. */
const keepScript = defineScript(`
for index = 1, #KEYS do redis.call('PEXPIRE', KEYS[index], ARGV[1]) end
`);

/** Rows per call: a default seed may have very many, and Redis serves no one else in the meantime. */
const ROWS_PER_CALL = 500;

/** How often a full list is scanned. A seed without keys in two scans has expired. */
const LOOK_EVERY_MS = 1_000;

export interface SeedRegisterDeps extends RedisDeps {
  readonly connection: RedisConnection;
  readonly epochs: SharedEpochs;
  readonly nowMs: (() => number) | undefined;
}

export interface SeedCounters {
  readonly n: number;
  readonly incarnation: string;
}

export class SeedRegister {
  readonly #deps: SeedRegisterDeps;
  /** Until when a seed counts as listed, by our monotonic clock. */
  readonly #listedUntilMs = new Map<string, number>();
  /** Listed default seeds without keys: expired, or about to be written. */
  #missing: ReadonlySet<bigint> = new Set();
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: SeedRegisterDeps) {
    this.#deps = deps;
  }

  /** Seeds are listed again often enough that the list lives as long as they do. */
  isListed(namespace: Namespace, seed: bigint): boolean {
    const untilMs = this.#listedUntilMs.get(seedKeys(namespace, seed).meta);
    return untilMs !== undefined && this.#deps.clock.monotonicMs() < untilMs;
  }

  /** Before its first change. Throws `limit-exceeded`: anyone may invent a seed of the default tracker. */
  async admit(namespace: Namespace, seed: bigint): Promise<void> {
    const seedsMax = namespace.name === '' ? fairLimits.defaultSeedsMax.value : '';
    let count = await this.#tryToList(namespace, seed, seedsMax);
    if (count > 0 && (await this.#unlistExpired(namespace)))
      count = await this.#tryToList(namespace, seed, seedsMax);
    if (count > 0) throw noRoomForSeed(seed, count);
  }

  /**
   * It was changed, so it is listed regardless of the limit: its keys started over, or others removed it from
   * the list.
   */
  async list(namespace: Namespace, seed: bigint): Promise<void> {
    await this.#tryToList(namespace, seed, '');
  }

  /** An opaque seed lives for as long as it is changed, with the rows that are not. */
  async keepRows(namespace: Namespace, seed: bigint): Promise<void> {
    if (namespace.name !== '') return;
    const { row } = seedKeys(namespace, seed);
    const keys = (await this.#rowIds(namespace, seed)).map(row);
    for (let at = 0; at < keys.length; at += ROWS_PER_CALL) {
      const some = keys.slice(at, at + ROWS_PER_CALL);
      await this.#deps.connection.script(keepScript, some, [timeToLiveMs(namespace)]);
    }
  }

  /** Entries that no Syncline service has listed are left out. */
  async all(namespace: Namespace): Promise<readonly bigint[]> {
    const reply = await this.#deps.connection.call('SMEMBERS', [trackerKeys(namespace).seeds]);
    const isSeed = (seed: string | undefined) => seed !== undefined && /^\d{1,20}$/.test(seed);
    return texts(reply).flatMap((seed) => (isSeed(seed) ? [BigInt(seed ?? 0)] : []));
  }

  async counters(namespace: Namespace): Promise<ReadonlyMap<bigint, SeedCounters>> {
    const counters = new Map<bigint, SeedCounters>();
    for (const seed of await this.all(namespace)) {
      const [n, incarnation] = await this.#meta(namespace, seed, ['n', 'e']);
      if (incarnation !== undefined) counters.set(seed, { n: Number(n), incarnation });
    }
    return counters;
  }

  /** Cells over all seeds of a namespace, as their changes have counted them. */
  async cellsCount(namespace: Namespace): Promise<number> {
    const seeds = await this.all(namespace);
    const metas = await Promise.all(seeds.map((seed) => this.#meta(namespace, seed, ['m'])));
    return metas.reduce((sum, [count]) => sum + (Number(count ?? 0) || 0), 0);
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

  /** Removes all keys of a seed; returns how many cells were removed. Concurrent callers each count their own. */
  async remove(namespace: Namespace, seed: bigint): Promise<number> {
    const { connection } = this.#deps;
    const { meta, rows, clients, row } = seedKeys(namespace, seed);
    this.#listedUntilMs.delete(meta);
    await connection.call('SREM', [trackerKeys(namespace).seeds, String(seed)]);
    let fieldsCount = 0;
    for (let isGone = false; !isGone; ) {
      const ids = (await this.#rowIds(namespace, seed)).slice(0, ROWS_PER_CALL);
      const keys = [meta, rows, clients, ...ids.map(row)];
      const [some, gone] = texts(await connection.script(removeScript, keys, ids));
      fieldsCount += Number(some);
      isGone = gone === 'gone';
    }
    return fieldsCount / 2;
  }

  async redisMs(): Promise<number> {
    const [seconds, micros] = texts(await this.#deps.connection.call('TIME', [])).map(Number);
    return (seconds ?? 0) * 1000 + Math.floor((micros ?? 0) / 1000);
  }

  /** 0, or the number of seeds if there is no room. */
  async #tryToList(namespace: Namespace, seed: bigint, seedsMax: number | ''): Promise<number> {
    const { connection, epochs, random } = this.#deps;
    const { seeds, epoch, active } = trackerKeys(namespace);
    const ownEpoch = namespace.name === '' ? drawEpoch(random) : '';
    const args = [String(seed), timeToLiveMs(namespace), seedsMax, ownEpoch];
    const reply = await connection.script(listScript, [seeds, epoch, active], args);
    const [count, current = ''] = texts(reply);
    if (current !== '') epochs.noteEpoch(namespace, current);
    if (Number(count) === 0) this.#noteListed(namespace, seed);
    return Number(count);
  }

  #noteListed(namespace: Namespace, seed: bigint): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const [key, untilMs] of this.#listedUntilMs)
      if (untilMs <= nowMs) this.#listedUntilMs.delete(key);
    // Rows of the default tracker are kept alive then too: see `keepRows`.
    const forMs = namespace.name === '' ? namespace.windowMs / 10 : namespace.windowMs;
    this.#listedUntilMs.set(seedKeys(namespace, seed).meta, nowMs + forMs);
  }

  /** Seeds expire by themselves, but stay on the list. True if there were any. */
  async #unlistExpired(namespace: Namespace): Promise<boolean> {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#lookedAtMs < LOOK_EVERY_MS) return false;
    this.#lookedAtMs = nowMs;
    const seeds = await this.all(namespace);
    const metas = await Promise.all(seeds.map((seed) => this.#meta(namespace, seed, ['e'])));
    const missing = new Set(seeds.filter((_, index) => metas[index]?.[0] === undefined));
    const expired = seeds.filter((seed) => missing.has(seed) && this.#missing.has(seed));
    this.#missing = missing;
    if (expired.length === 0) return false;
    const args = [trackerKeys(namespace).seeds, ...expired.map(String)];
    await this.#deps.connection.call('SREM', args);
    return true;
  }

  async #info(namespace: Namespace, seed: bigint): Promise<SeedInfo | undefined> {
    const [changedMs] = await this.#meta(namespace, seed, ['t']);
    if (changedMs === undefined) return undefined;
    const nowMs = this.#deps.nowMs?.() ?? (await this.redisMs());
    return {
      seed,
      cellsCount: await this.#countCells(namespace, seed),
      idleMs: Math.max(0, nowMs - (Number(changedMs) || 0)),
    };
  }

  async #meta(namespace: Namespace, seed: bigint, fields: readonly string[]) {
    const { meta } = seedKeys(namespace, seed);
    return texts(await this.#deps.connection.call('HMGET', [meta, ...fields]));
  }

  async #rowIds(namespace: Namespace, seed: bigint): Promise<readonly string[]> {
    const reply = await this.#deps.connection.call('SMEMBERS', [seedKeys(namespace, seed).rows]);
    return texts(reply).map((id) => id ?? '');
  }

  async #countCells(namespace: Namespace, seed: bigint): Promise<number> {
    const { connection } = this.#deps;
    const { row } = seedKeys(namespace, seed);
    const ids = await this.#rowIds(namespace, seed);
    const lengths = await Promise.all(ids.map((id) => connection.call('HLEN', [row(id)])));
    return lengths.reduce<number>((sum, length) => sum + Number(length) / 2, 0);
  }
}

function noRoomForSeed(seed: bigint, count: number): SynclineError {
  const { value } = fairLimits.defaultSeedsMax;
  return new SynclineError(
    'limit-exceeded',
    `seed ${seed} cannot be added: the default tracker in Redis has ${count} seeds, and at most ${value} are allowed. Seeds are dropped 3 windows after their last change; use a named tracker, or fewer seeds.`,
    { details: { limit: 'defaultSeedsMax', limitValue: value } },
  );
}

// How many more cells the default tracker may hold in Redis. Its seeds are in several slots, so no script
// sees all of them: each counts its own cells, and we add them up, once a second while there are changes.
//
// Changes of ours that are in flight count as if all their cells were new. The script refuses a change that
// would add more cells than it has room for, and before a refusal is reported the cells are counted again.
// Cells that other services add within a second are not seen, so the limit may be exceeded by that much.

const COUNT_EVERY_MS = 1_000;
/** Its name selects the seeds; the rest does not matter here. */
const DEFAULT_NAMESPACE = {
  name: '',
  rule: { policy: 'sum' },
  shape: undefined,
  windowMs: 0,
} as const;

export interface DefaultRoomDeps {
  readonly clock: Clock;
  readonly register: SeedRegister;
}

export class DefaultRoom {
  readonly #deps: DefaultRoomDeps;
  /** The last count plus everything sent since. */
  #cellsCount = 0;
  #sentCount = 0;
  #counting: Promise<void> | undefined;
  #countedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: DefaultRoomDeps) {
    this.#deps = deps;
  }

  /** Sends a change with the room that there is for it. Throws `limit-exceeded`. */
  async take(cellsCount: number, send: (room: number) => Promise<SeedChange>): Promise<SeedChange> {
    if (this.#deps.clock.monotonicMs() - this.#countedAtMs >= COUNT_EVERY_MS) await this.#count();
    const change = await this.#sendOnce(cellsCount, send);
    if (change.origin !== 'full') return change;
    await this.#count();
    const again = await this.#sendOnce(cellsCount, send);
    if (again.origin !== 'full') return again;
    const { value } = fairLimits.defaultCellsMax;
    throw new SynclineError(
      'limit-exceeded',
      `the default tracker in Redis would hold more than ${value} cells. Use fewer rows and columns, or a named tracker.`,
      { details: { limit: 'defaultCellsMax', limitValue: value } },
    );
  }

  async #sendOnce(
    cellsCount: number,
    send: (room: number) => Promise<SeedChange>,
  ): Promise<SeedChange> {
    const room = Math.max(0, fairLimits.defaultCellsMax.value - this.#cellsCount);
    this.#cellsCount += cellsCount;
    this.#sentCount += cellsCount;
    try {
      return await send(room);
    } finally {
      this.#sentCount -= cellsCount;
    }
  }

  /** Changes sent before and during the count may not be included, so they are added. */
  #count(): Promise<void> {
    const count = async () => {
      const [cellsBefore, sentBefore] = [this.#cellsCount, this.#sentCount];
      const counted = await this.#deps.register.cellsCount(DEFAULT_NAMESPACE);
      this.#cellsCount += counted + sentBefore - cellsBefore;
      this.#countedAtMs = this.#deps.clock.monotonicMs();
    };
    this.#counting ??= count().finally(() => {
      this.#counting = undefined;
    });
    return this.#counting;
  }
}
