// Batches of items, which move between operators. They are parallel arrays rather than one object per item, so that the
// inner loops touch little memory and values that are rarely needed, such as logical times, are created on demand.
//
// Every item has a logical time: the source partition that it came from (`origin`), the incarnation of that partition
// (`epoch`), the number of its record in it (`round`) and, since one record can become several items, an index. After a
// replay every item has the same time again.
//
// X30  Items that descend from one record have different times, however operators split and merge them.
import { createHash } from 'node:crypto';
import { SynclineError } from '@syncline/kernel';
import type { Output } from '../ends/sink.js';
import { ByteWriter } from '../snapshot/byte-writer.js';
import { type Key, writeKey } from '../state/key.js';
import type { LogicalTime } from '../state/version.js';

/** A plain value, so one worker can send it to another. */
export interface Batch {
  readonly items: readonly unknown[];
  /** Keys from the keyed stream that the items are in, or from the operator that emitted them. */
  readonly keys: readonly Key[] | undefined;
  readonly rounds: readonly number[];
  /** Undefined if all are 0. */
  readonly indexes: readonly number[] | undefined;
  /** Event times in ms, if the source has any. */
  readonly times: readonly number[] | undefined;
  readonly origin: string;
  readonly epoch: number;
  /** Uid of the source or stateful operator that the items come from. */
  readonly emitter: string;
}

export function indexAt({ indexes }: Batch, at: number): number {
  return indexes === undefined ? 0 : (indexes[at] as number);
}

/** The items at these indexes, which are in ascending order. */
export function select(batch: Batch, places: readonly number[]): Batch {
  if (places.length === batch.items.length) return batch;
  const from = <T>(list: readonly T[]): T[] => places.map((at) => list[at] as T);
  return {
    ...batch,
    items: from(batch.items),
    keys: batch.keys && from(batch.keys),
    rounds: from(batch.rounds),
    indexes: batch.indexes && from(batch.indexes),
    times: batch.times && from(batch.times),
  };
}

/**
 * The index of child number `child` of an item with this index. The child numbers along a path are concatenated as
 * words of a prefix code: 0 is the word `0`; n is k ones, a zero and the k low bits of n + 1, where k is the bit length
 * of n + 1, less one. So different paths of the same depth give different numbers, and the only child of an item with
 * index 0 also has index 0.
 */
export function childIndex(index: number, child: number): number {
  if (child === 0) return index === 0 ? 0 : checkedIndex(index * 2);
  const bits = 31 - Math.clz32(child + 1);
  const word = (2 ** bits - 1) * 2 ** (bits + 1) + (child + 1 - 2 ** bits);
  return checkedIndex(index * 2 ** (2 * bits + 1) + word);
}

function checkedIndex(index: number): number {
  if (Number.isSafeInteger(index)) return index;
  throw new SynclineError(
    'limit-exceeded',
    'an item was split too many times for its parts to be numbered; split it once instead',
    { details: { limit: 'index' } },
  );
}

/** Collects the output of an operator into batches. */
export class BatchBuilder {
  items: unknown[] = [];
  keys: Key[] = [];
  rounds: number[] = [];
  indexes: number[] = [];
  times: number[] = [];
  hasTimes = false;
  hasIndexes = false;

  get length(): number {
    return this.items.length;
  }

  push(item: unknown, key: Key, round: number, index: number, timeMs: number | undefined): void {
    this.items.push(item);
    this.keys.push(key);
    this.rounds.push(round);
    this.indexes.push(index);
    this.times.push(timeMs ?? 0);
    if (timeMs !== undefined) this.hasTimes = true;
    if (index !== 0) this.hasIndexes = true;
  }

  /** Drops everything after the first `length` items. */
  cut(length: number): void {
    for (const list of [this.items, this.keys, this.rounds, this.indexes, this.times]) {
      list.length = length;
    }
  }

  take(origin: string, epoch: number, emitter: string): Batch {
    const batch: Batch = {
      items: this.items,
      keys: this.keys,
      rounds: this.rounds,
      indexes: this.hasIndexes ? this.indexes : undefined,
      times: this.hasTimes ? this.times : undefined,
      origin,
      epoch,
      emitter,
    };
    this.items = [];
    this.keys = [];
    this.rounds = [];
    this.indexes = [];
    this.times = [];
    this.hasTimes = false;
    this.hasIndexes = false;
    return batch;
  }
}

const ID_BYTES = 16;
const scratch = new ByteWriter();

/** One output for a sink. Its time and id are computed on demand. */
export class PipelineOutput implements Output<unknown> {
  readonly value: unknown;
  readonly key?: Key;
  readonly #pipeline: string;
  readonly #batch: Batch;
  readonly #at: number;

  constructor(pipeline: string, batch: Batch, at: number) {
    this.value = batch.items[at];
    const key = batch.keys?.[at];
    if (key !== undefined) this.key = key;
    this.#pipeline = pipeline;
    this.#batch = batch;
    this.#at = at;
  }

  get time(): LogicalTime {
    const { epoch, rounds, origin } = this.#batch;
    const round = rounds[this.#at] as number;
    return { epoch, round, origin, index: indexAt(this.#batch, this.#at) };
  }

  id(): string {
    const { emitter } = this.#batch;
    const { epoch, round, origin = '', index = 0 } = this.time;
    scratch.clear();
    for (const text of [this.#pipeline, emitter]) sized(() => scratch.utf8(text));
    sized(() => {
      if (this.key !== undefined) writeKey(scratch, this.key);
    });
    sized(() => scratch.utf8(origin));
    scratch.i64(epoch);
    scratch.i64(round);
    scratch.i64(index);
    const digest = createHash('sha256').update(scratch.view()).digest();
    return digest.subarray(0, ID_BYTES).toString('base64url');
  }
}

function sized(write: () => void): void {
  const start = scratch.beginSized();
  write();
  scratch.endSized(start);
}
