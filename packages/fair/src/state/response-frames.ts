// Responses as bytes. Cells are collected into one set of columns that serves all, since encoding never waits, and
// are encoded at most 8,192 at a time. In the default tracker (epoch 0) no field is sent that the original contract
// does not have.
//
// F12  A client of the original contract sees no unknown field.

import type { Clock, Timer } from '@syncline/kernel';
import { type Cells, createCells, NO_CELLS } from '../cells.js';
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

// Messages of snapshots that streams share. In the default tracker nothing decays, so the same cells are the
// same bytes until one of them changes: they are encoded for the first request, and kept for requests shortly
// after.

/** How long they are kept. */
const SHARED_MS = 100;

export interface SnapshotPage {
  readonly bytes: Uint8Array;
  /** Where the next one begins; -1 if there is none. */
  readonly nextSlot: number;
}

interface SeedPages {
  readonly version: number;
  readonly byFirstSlot: Map<number, SnapshotPage>;
}

export class SnapshotPages {
  readonly #clock: Clock;
  readonly #seeds = new Map<SeedMirror, SeedPages>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Of a seed in the default tracker, from a slot on. */
  pageOf(mirror: SeedMirror, from: number, times: StoreTimes): SnapshotPage {
    const pages = this.#pagesOf(mirror);
    const known = pages.get(from);
    if (known !== undefined) return known;
    const next = (slot: number) => mirror.nextListed(slot, times.monotonicMs);
    const { cells, nextSlot } = collectCells(mirror, next, from, times);
    const page = { bytes: encodeShared(mirror.seed, cells, 0), nextSlot };
    pages.set(from, page);
    return page;
  }

  close(): void {
    this.#timer?.cancel();
    this.#forget();
  }

  #pagesOf(mirror: SeedMirror): Map<number, SnapshotPage> {
    const { version } = mirror;
    const known = this.#seeds.get(mirror);
    if (known?.version === version) return known.byFirstSlot;
    const byFirstSlot = new Map<number, SnapshotPage>();
    this.#seeds.set(mirror, { version, byFirstSlot });
    this.#timer ??= this.#clock.setTimer(SHARED_MS, () => this.#forget(), { unref: true });
    return byFirstSlot;
  }

  #forget(): void {
    this.#timer = undefined;
    this.#seeds.clear();
  }
}
