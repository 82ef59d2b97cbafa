// The changes that the fair benches send: the same ones to every contestant. Cells are drawn from the default shape
// of a tracker by a simple generator, so that each run of each contestant has the same number of repeats.
import type { CellDeltas } from '@syncline/fair';
import type { BucketDelta } from '@syncline/fair/redis';
import { COLUMNS, LEVELS } from './fair-delta-stream.js';

export const CLIENTS = 8;

export type DeltaBatch = readonly BucketDelta[];

const MULTIPLIER = 1_664_525;
const INCREMENT = 1_013_904_223;

/** Batches of `size` changes, different for each client. */
export function createBatches(count: number, size: number): readonly (readonly DeltaBatch[])[] {
  let state = 1;
  const below = (bound: number) => {
    state = (Math.imul(state, MULTIPLIER) + INCREMENT) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
  const delta = (): BucketDelta => ({
    rowId: below(LEVELS),
    colId: below(COLUMNS),
    deltaProb: below(2) === 0 ? 0.04 : -0.03,
    lastUpdateTimeMs: Date.now(),
    lo: 0,
    hi: 1,
  });
  const batch = () => Array.from({ length: size }, delta);
  return Array.from({ length: CLIENTS }, () => Array.from({ length: count }, batch));
}

const columnsOf = new WeakMap<DeltaBatch, CellDeltas>();

/** The same as columns, which is what a stream sends. */
export function deltasOf(batch: DeltaBatch): CellDeltas {
  const known = columnsOf.get(batch);
  if (known !== undefined) return known;
  const column = (read: (delta: BucketDelta) => number) => Float64Array.from(batch, read);
  const deltas: CellDeltas = {
    count: batch.length,
    rows: column((delta) => delta.rowId),
    columns: column((delta) => delta.colId),
    amounts: column((delta) => delta.deltaProb),
    timesMs: column((delta) => delta.lastUpdateTimeMs),
    lows: column((delta) => delta.lo ?? 0),
    highs: column((delta) => delta.hi ?? 1),
  };
  columnsOf.set(batch, deltas);
  return deltas;
}
