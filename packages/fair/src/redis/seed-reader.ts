// Reads all current cells of a seed, and which change they include.
//
// Slice by slice, in sequence, each with its own deadline: a seed of the largest size takes a second, and
// neither Redis nor the other calls of this connection wait for more than a slice of it. The read counts as of
// the counter before its first slice. Later slices may be newer, which is harmless: those changes are delivered
// after it.
import { SynclineError } from '@syncline/kernel';
import { type Cells, createCells, NO_CELLS } from '../cells.js';
import { decayed } from '../decay.js';
import { fairLimits } from '../limits.js';
import type { Namespace } from '../state/fair-store.js';
import { defineScript, list, type RedisConnection, text, texts } from './redis-connection.js';
import { type SeedKeys, seedKeys } from './redis-keys.js';
import { isPlace } from './seed-change.js';

/**
 * Rows until there are enough fields. KEYS 1 meta, then rows; ARGV 1 where to continue in the first of them, 2 how
 * many fields. Returns only strings, so that numbers are not truncated.
 */
const readSliceScript = defineScript(`
local rows, entriesCount, cursor = {}, 0, ARGV[1]
for key = 2, #KEYS do
  local scanned = redis.call('HSCAN', KEYS[key], cursor, 'COUNT', ARGV[2])
  cursor = scanned[1]
  rows[#rows + 1] = scanned[2]
  entriesCount = entriesCount + #scanned[2]
  if cursor ~= '0' or entriesCount >= 2 * ARGV[2] then break end
end
return { redis.call('HMGET', KEYS[1], 'e', 't'), redis.call('TIME'), cursor, rows }
`);

/** A named tracker does not return cells below this. */
const VISIBLE_MIN = 1e-6;

export interface SeedReading {
  readonly n: number;
  /** '' if the seed does not exist. */
  readonly incarnation: string;
  /** Every cell that was ever touched, including those at 0. */
  readonly cells: Cells;
}

export interface SeedReaderDeps {
  readonly connection: RedisConnection;
  /** Replaces the clock of Redis. */
  readonly nowMs: (() => number) | undefined;
}

export async function readSeed(
  deps: SeedReaderDeps,
  namespace: Namespace,
  seed: bigint,
): Promise<SeedReading> {
  const keys = seedKeys(namespace, seed);
  const [n, incarnation = ''] = texts(await deps.connection.call('HMGET', [keys.meta, 'n', 'e']));
  if (incarnation === '') return { n: 0, incarnation, cells: NO_CELLS };
  const reader = new RowsReader(deps, { ...namespace, keys, incarnation });
  const { value: count } = fairLimits.redisCellsPerReadMax;
  let cursor = '0';
  do {
    const scan = await deps.connection.call('SSCAN', [keys.rows, cursor, 'COUNT', count]);
    const [next, rows] = list(scan);
    cursor = text(next) ?? '0';
    await reader.read(texts(rows).map((row) => row ?? ''));
  } while (cursor !== '0');
  return { n: Number(n ?? 0), incarnation, cells: reader.cells() };
}

export function visibleCells(namespace: Namespace, cells: Cells): Cells {
  if (namespace.rule.policy === 'sum') return cells;
  const visible = createCells(cells.count);
  for (let index = 0; index < cells.count; index += 1) {
    if ((cells.probabilities[index] ?? 0) < VISIBLE_MIN) continue;
    for (const column of ['rows', 'columns', 'probabilities', 'timesMs'] as const)
      visible[column][visible.count] = cells[column][index] ?? 0;
    visible.count += 1;
  }
  return visible;
}

/** The row so far, by column: a cell is two fields, which may arrive in different slices. */
interface Row {
  readonly probabilities: Map<number, number>;
  readonly timesMs: Map<number, number>;
}

interface SeedToRead extends Pick<Namespace, 'rule' | 'shape'> {
  readonly keys: SeedKeys;
  readonly incarnation: string;
}

class RowsReader {
  readonly #deps: SeedReaderDeps;
  readonly #seed: SeedToRead;
  readonly #seen = new Set<string>();
  readonly #rows: number[] = [];
  readonly #columns: number[] = [];
  readonly #probabilities: number[] = [];
  readonly #timesMs: number[] = [];

  constructor(deps: SeedReaderDeps, seed: SeedToRead) {
    this.#deps = deps;
    this.#seed = seed;
  }

  /** A scan may name a row twice. */
  async read(rows: readonly string[]): Promise<void> {
    const { shape } = this.#seed;
    const fresh = rows.filter((row) => !this.#seen.has(row) && isPlace(shape, Number(row), 0));
    for (const row of fresh) this.#seen.add(row);
    let row = createRow();
    let cursor = '0';
    for (let at = 0; at < fresh.length; ) {
      const slice = await this.#slice(fresh.slice(at), cursor);
      cursor = slice.cursor;
      for (const [index, entries] of slice.rows.entries()) {
        gather(row, texts(entries));
        if (cursor !== '0' && index === slice.rows.length - 1) break; // the rest is in the next slice
        this.#add(Number(fresh[at]), row, slice.nowMs);
        row = createRow();
        at += 1;
      }
    }
  }

  cells(): Cells {
    return {
      count: this.#rows.length,
      rows: new Float64Array(this.#rows),
      columns: new Float64Array(this.#columns),
      probabilities: new Float64Array(this.#probabilities),
      timesMs: new Float64Array(this.#timesMs),
    };
  }

  async #slice(rows: readonly string[], from: string) {
    const { connection, nowMs } = this.#deps;
    const { keys, incarnation } = this.#seed;
    const { value: count } = fairLimits.redisCellsPerReadMax;
    const names = [keys.meta, ...rows.slice(0, count).map((row) => keys.row(row))];
    // A cell has two fields.
    const reply = await connection.script(readSliceScript, names, [from, 2 * count]);
    const [meta, time, cursor, entries] = list(reply);
    const [lifeNow, lastMs] = texts(meta);
    if (lifeNow !== incarnation)
      throw new SynclineError('unavailable', 'a seed started over in Redis while it was read');
    const [seconds, micros] = texts(time).map(Number);
    const redisMs = (seconds ?? 0) * 1000 + Math.floor((micros ?? 0) / 1000);
    return {
      cursor: text(cursor) ?? '0',
      rows: list(entries),
      nowMs: Math.max(nowMs?.() ?? redisMs, Number(lastMs ?? 0) || 0),
    };
  }

  #add(id: number, { probabilities, timesMs }: Row, nowMs: number): void {
    const { rule, shape } = this.#seed;
    for (const [column, probability] of probabilities) {
      if (!isPlace(shape, id, column)) continue;
      const timeMs = timesMs.get(column) ?? 0;
      const isSum = rule.policy === 'sum';
      this.#rows.push(id);
      this.#columns.push(column);
      this.#probabilities.push(isSum ? probability : decayed(rule, probability, nowMs - timeMs));
      this.#timesMs.push(timeMs);
    }
  }
}

function createRow(): Row {
  return { probabilities: new Map(), timesMs: new Map() };
}

/** Field, value, field, value. */
function gather(row: Row, entries: readonly (string | undefined)[]): void {
  for (let index = 0; index < entries.length; index += 2) {
    const field = entries[index] ?? '';
    const column = Number(field.slice(0, -':prob'.length));
    const value = Number(entries[index + 1]) || 0;
    if (field.endsWith(':prob')) row.probabilities.set(column, Math.min(1, Math.max(0, value)));
    else row.timesMs.set(column, value);
  }
}
