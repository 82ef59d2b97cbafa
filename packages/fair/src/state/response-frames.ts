// Responses as bytes. Cells are collected into one set of columns that serves all, since encoding never
// waits, and are encoded at most 8,192 at a time. In the default namespace (epoch 0) no field is sent that the plain contract does
// not have.
//
// F12  A client of the plain contract sees no unknown field.
import { type Cells, createCells } from '../cells.js';
import { fairLimits } from '../limits.js';
import { encodeBuckets, encodeSyncResponse, withResponseFields } from '../wire/sync-codec.js';
import type { ResponseFields, Welcome } from '../wire/sync-messages.js';
import type { StoreTimes } from './memory-seed.js';
import type { SeedMirror } from './seed-mirror.js';

const NO_FIELDS: ResponseFields = {
  epoch: 0,
  ackedSeq: 0,
  isSnapshot: false,
  activeInstances: 0,
  welcome: undefined,
  snapshotEnd: false,
};

const NO_CELLS: Cells = createCells(0);

/** Cells of one message, and where to continue; -1 if these were the last. */
export interface Collected {
  readonly cells: Cells;
  readonly nextSlot: number;
}

const collected = createCells(fairLimits.elementsPerMessageMax.value);

/** The cells that `next` finds, from a slot on. They are valid until the next call. */
export function collectCells(
  mirror: SeedMirror,
  next: (from: number) => number,
  from: number,
  times: StoreTimes,
): Collected {
  collected.count = 0;
  let slot = next(from);
  while (slot !== -1 && collected.count < collected.rows.length) {
    mirror.append(collected, slot, times);
    slot = next(slot + 1);
  }
  return { cells: collected, nextSlot: slot };
}

/** The bytes that all streams of a round share. */
export function encodeShared(seed: bigint, cells: Cells, epoch: number): Uint8Array {
  const buckets = encodeBuckets(seed, cells, 0, cells.count);
  return epoch === 0 ? buckets : withResponseFields(buckets, { ...NO_FIELDS, epoch });
}

export function withAck(shared: Uint8Array, ackedSeq: number): Uint8Array {
  return withResponseFields(shared, { ...NO_FIELDS, ackedSeq });
}

export function encodeWith(
  seed: bigint,
  cells: Cells | undefined,
  fields: Partial<ResponseFields>,
): Uint8Array {
  return encodeSyncResponse({ ...NO_FIELDS, ...fields, seed, cells: cells ?? NO_CELLS });
}

export function encodeWelcome(welcome: Welcome): Uint8Array {
  return encodeWith(0n, undefined, { epoch: welcome.epoch, welcome });
}
