// The on-disk format of shared cells: one record per cell, and one per tracker that describes its cells.
//
//   fair/<tracker>                       rule, shape and window, as JSON
//   fair/<tracker>/<seed>/<row>/<col>    probability and time, two doubles, little endian
//
// Keys are text, so that a person can read them and all cells of a seed are adjacent. A tracker
// without a name is the default tracker. Numbers are not padded: only the grouping of keys matters, not their
// order. The time is the wall time at which a probability held; in the default tracker, which has no decay,
// it is the `last_update_time_ms` of the cell.
//
// Records are checked like untrusted input: an invalid entry is skipped.

import { fairLimits } from '../limits.js';
import type { ChangeRule, Namespace } from './fair-store.js';

export interface CellPlace {
  readonly row: number;
  readonly column: number;
}

export interface CellRecord extends CellPlace {
  readonly seed: bigint;
  readonly probability: number;
  readonly timeMs: number;
}

export interface KeyRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

const VALUE_BYTES = 16;
const SEED_MAX = 2n ** 64n - 1n;
const CELL_KEY = /^(0|[1-9]\d{0,19})\/(0|[1-9]\d{0,15})\/(0|[1-9]\d{0,15})$/;
const NAME = new RegExp(`^[A-Za-z0-9._@-]{0,${fairLimits.nameLengthMax.value}}$`);

export function namespaceKey(name: string): Uint8Array {
  return Buffer.from(`fair/${name}`);
}

/** All records of trackers and cells. `0` is the character behind `/`. */
export const ALL_RECORDS: KeyRange = {
  from: new TextEncoder().encode('fair/'),
  to: new TextEncoder().encode('fair0'),
};

export function cellsOfSeed(name: string, seed: bigint): KeyRange {
  return { from: Buffer.from(`fair/${name}/${seed}/`), to: Buffer.from(`fair/${name}/${seed}0`) };
}

/** The common prefix of the keys of a seed's cells. */
export function seedPrefix(name: string, seed: bigint): string {
  return `fair/${name}/${seed}/`;
}

export function cellKey(prefix: string, { row, column }: CellPlace): Uint8Array {
  return Buffer.from(`${prefix}${row}/${column}`);
}

/** The tracker of a cell's key; undefined for the key of a tracker's own record. */
export function namespaceOfCell(key: Uint8Array): string | undefined {
  const [, name = '', ...place] = Buffer.from(key).toString('latin1').split('/');
  return place.length === 0 ? undefined : name;
}

export function encodeCell(probability: number, timeMs: number): Uint8Array {
  const value = new Uint8Array(VALUE_BYTES);
  const view = new DataView(value.buffer);
  view.setFloat64(0, probability, true);
  view.setFloat64(8, timeMs, true);
  return value;
}

/** The cell of a tracker, or undefined if the record is not a valid cell of it. */
export function decodeCell(
  { name, shape }: Namespace,
  key: Uint8Array,
  value: Uint8Array,
): CellRecord | undefined {
  const text = Buffer.from(key).toString('latin1');
  const match = CELL_KEY.exec(text.slice(`fair/${name}/`.length));
  if (match === null || value.length !== VALUE_BYTES) return undefined;
  const [seed, row, column] = [BigInt(match[1] ?? ''), Number(match[2]), Number(match[3])];
  const view = new DataView(value.buffer, value.byteOffset, VALUE_BYTES);
  const [probability, timeMs] = [view.getFloat64(0, true), view.getFloat64(8, true)];
  const isPlace =
    shape === undefined
      ? Number.isSafeInteger(row) && Number.isSafeInteger(column)
      : row < shape.levels && column < shape.columns;
  const isValue = probability >= 0 && probability <= 1 && timeMs >= 0 && Number.isFinite(timeMs);
  if (!isPlace || !isValue || seed > SEED_MAX) return undefined;
  return { seed, row, column, probability, timeMs };
}

export function encodeNamespace({ rule, shape, windowMs }: Namespace): Uint8Array {
  return Buffer.from(JSON.stringify({ rule, shape, windowMs }));
}

/** The tracker that a record describes; undefined for a key or a value that is not such a record. */
export function decodeNamespace(key: Uint8Array, value: Uint8Array): Namespace | undefined {
  const name = Buffer.from(key).toString('latin1').slice('fair/'.length);
  const record = parseRecord(value);
  if (!NAME.test(name) || record === undefined) return undefined;
  const { rule, shape, windowMs } = record;
  const isNamed = name !== '';
  const isWhole =
    isRule(rule) && isNamed === (rule.policy !== 'sum') && isPositiveInteger(windowMs);
  if (!isWhole) return undefined;
  if (!isNamed) return { name, rule, shape: undefined, windowMs };
  return isShape(shape) ? { name, rule, shape, windowMs } : undefined;
}

/** Whether cells that were kept under one description may be read under the other. */
export function isSameMeaning(one: Namespace, other: Namespace): boolean {
  const parts = ({ rule, shape, windowMs }: Namespace) => [
    rule.policy,
    rule.policy === 'sum' ? 0 : rule.ratePerSecond,
    shape?.levels,
    shape?.columns,
    windowMs,
  ];
  const others = parts(other);
  return parts(one).every((part, at) => part === others[at]);
}

function parseRecord(value: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const record: unknown = JSON.parse(Buffer.from(value).toString('utf8'));
    return isRecord(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isRule(rule: unknown): rule is ChangeRule {
  if (!isRecord(rule)) return false;
  const { policy, ratePerSecond } = rule;
  if (policy === 'sum') return true;
  const isDecay = policy === 'exponential' || policy === 'linear';
  return isDecay && typeof ratePerSecond === 'number' && ratePerSecond >= 0;
}

function isShape(shape: unknown): shape is NonNullable<Namespace['shape']> {
  if (!isRecord(shape)) return false;
  const { levels, columns } = shape;
  if (!isPositiveInteger(levels) || !isPositiveInteger(columns)) return false;
  return levels <= fairLimits.levelsMax.value && columns <= fairLimits.columnsMax.value;
}

function isPositiveInteger(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
