// Reads all cells of a seed as they are now, and which change they include.
//
// Row by row: a script over a whole seed of the largest size would hold Redis up for a tenth of a second.
// The reading is named after the counter at its first row; later rows may be newer, which is harmless,
// since the changes that made them so are delivered behind it.
import { type Cells, createCells } from '../cells.js';
import { decayed } from '../decay.js';
import type { ChangeRule, Namespace } from '../state/fair-store.js';
import type { RedisConnection } from './redis-connection.js';
import { seedKeys } from './redis-keys.js';
import { list, texts } from './redis-reply.js';
import { defineScript } from './redis-script.js';

/** KEYS 1 meta, 2 a row. Answers texts only, so no number is cut. */
const readRowScript = defineScript(`
return { redis.call('HMGET', KEYS[1], 'n', 'e', 't'), redis.call('TIME'), redis.call('HGETALL', KEYS[2]) }
`);

/** A named tracker does not hand out cells below this. */
const VISIBLE_MIN = 1e-6;

export interface SeedReading {
  readonly n: number;
  /** '' if the seed does not exist. */
  readonly life: string;
  /** Every cell that was ever touched, those of 0 too. */
  readonly cells: Cells;
}

export interface SeedReaderDeps {
  readonly connection: RedisConnection;
  /** Instead of the time of Redis. */
  readonly nowMs: (() => number) | undefined;
}

export async function readSeed(
  { connection, nowMs }: SeedReaderDeps,
  namespace: Namespace,
  seed: bigint,
): Promise<SeedReading> {
  const keys = seedKeys(namespace, seed);
  const rows = texts(await connection.call('SMEMBERS', [keys.rows])).map((row) => row ?? '');
  const replies = await Promise.all(
    rows.map((row) => connection.script(readRowScript, [keys.meta, keys.row(row)], [])),
  );
  const columns = { rows: [], columns: [], probabilities: [], timesMs: [] };
  let first: { readonly n: number; readonly life: string } | undefined;
  for (const [index, reply] of replies.entries()) {
    const [meta, time, fields] = list(reply);
    const [n, life = '', lastMs] = texts(meta);
    const [seconds, micros] = texts(time).map(Number);
    const redisMs = (seconds ?? 0) * 1000 + Math.floor((micros ?? 0) / 1000);
    first ??= { n: Number(n ?? 0), life };
    addRow(columns, {
      row: Number(rows[index]),
      fields: texts(fields),
      rule: namespace.rule,
      nowMs: Math.max(nowMs?.() ?? redisMs, Number(lastMs ?? 0)),
    });
  }
  return { n: first?.n ?? 0, life: first?.life ?? '', cells: toCells(columns) };
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

interface Columns {
  readonly rows: number[];
  readonly columns: number[];
  readonly probabilities: number[];
  readonly timesMs: number[];
}

interface RowReading {
  readonly row: number;
  /** Field, value, field, value. */
  readonly fields: readonly (string | undefined)[];
  readonly rule: ChangeRule;
  readonly nowMs: number;
}

function addRow(into: Columns, { row, fields, rule, nowMs }: RowReading): void {
  const values = new Map<string, number>();
  for (let index = 0; index < fields.length; index += 2)
    values.set(fields[index] ?? '', Number(fields[index + 1]) || 0);
  for (const [field, stored] of values) {
    if (!field.endsWith(':prob')) continue;
    const value = Math.min(1, Math.max(0, stored));
    const column = field.slice(0, -':prob'.length);
    const timeMs = values.get(`${column}:time`) ?? 0;
    into.rows.push(row);
    into.columns.push(Number(column));
    into.probabilities.push(rule.policy === 'sum' ? value : decayed(rule, value, nowMs - timeMs));
    into.timesMs.push(timeMs);
  }
}

function toCells({ rows, columns, probabilities, timesMs }: Columns): Cells {
  return {
    count: rows.length,
    rows: Float64Array.from(rows),
    columns: Float64Array.from(columns),
    probabilities: Float64Array.from(probabilities),
    timesMs: Float64Array.from(timesMs),
  };
}
