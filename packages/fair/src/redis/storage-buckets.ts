// The buckets that the storage service accepts and returns, and the checks of its input.
import { SynclineError } from '@syncline/kernel';
import type { Cells } from '../cells.js';

/** A change of a cell: its probability becomes min(hi, max(lo, probability + deltaProb)). */
export interface BucketDelta {
  readonly rowId: number;
  readonly colId: number;
  readonly deltaProb: number;
  readonly lastUpdateTimeMs: number;
  /** Default 0. */
  readonly lo?: number;
  /** Default 1. */
  readonly hi?: number;
}

export interface Update {
  readonly seed: bigint;
  readonly updates: readonly BucketDelta[];
}

/** The current value of a cell. */
export interface OverwriteBucket {
  readonly rowId: number;
  readonly colId: number;
  readonly prob: number;
  readonly lastUpdateTimeMs: number;
}

export interface RespBucket {
  readonly seed: bigint;
  /** The seed as a time: it counts milliseconds. */
  readonly startUtcNs: bigint;
  readonly updates: OverwriteBucket[];
}

export function bucketsOf({ count, rows, columns, probabilities, timesMs }: Cells) {
  return Array.from(
    { length: count },
    (_, index): OverwriteBucket => ({
      rowId: rows[index] ?? 0,
      colId: columns[index] ?? 0,
      prob: probabilities[index] ?? 0,
      lastUpdateTimeMs: timesMs[index] ?? 0,
    }),
  );
}

/** Throws `invalid-argument`, before anything is accepted. */
export function checkUpdates(updates: readonly Update[]): void {
  for (const [index, { seed, updates: deltas }] of updates.entries()) {
    const where = `updates[${index}]`;
    refuseUnless(seed >= 0n && seed < 2n ** 64n, `${where}.seed`, seed, '0 to 2^64 - 1');
    for (const [at, delta] of deltas.entries()) checkDelta(`${where}.updates[${at}]`, delta);
  }
}

function checkDelta(where: string, delta: BucketDelta): void {
  const { deltaProb, lo = 0, hi = 1 } = delta;
  for (const field of ['rowId', 'colId', 'lastUpdateTimeMs'] as const) {
    const value = delta[field];
    const isId = Number.isSafeInteger(value) && value >= 0;
    refuseUnless(isId, `${where}.${field}`, value, 'an integer from 0 to 2^53 - 1');
  }
  refuseUnless(Number.isFinite(deltaProb), `${where}.deltaProb`, deltaProb, 'a finite number');
  refuseUnless(lo >= 0 && lo <= 1, `${where}.lo`, lo, '0 to 1');
  refuseUnless(hi >= lo && hi <= 1, `${where}.hi`, hi, `lo (${lo}) to 1`);
}

function refuseUnless(condition: boolean, field: string, value: unknown, wanted: string): void {
  if (condition) return;
  throw new SynclineError(
    'invalid-argument',
    `${field} is ${String(value)}; it must be ${wanted}`,
    {
      details: { field },
    },
  );
}
