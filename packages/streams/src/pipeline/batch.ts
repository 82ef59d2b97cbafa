// Batches: what moves between operators. Arrays side by side instead of an object per item, so that the
// inner loops touch little memory and nothing is allocated for what nobody asks, such as a logical time.
//
// Every item has a logical time: the source partition that it came from (`origin`), the incarnation of the
// partition (`epoch`), the number of its record there (`round`) and, since one record can become several
// items, an index. A replay gives every item the same time again.
//
// X30  Items that descend from one record have different times, however operators split and merge them.
import { createHash } from 'node:crypto';
import { SynclineError } from '@syncline/kernel';
import type { Output } from '../ends/sink.js';
import { ByteWriter } from '../snapshot/byte-writer.js';
import { type Key, writeKey } from '../state/key.js';
import type { LogicalTime } from '../state/version.js';

export class Batch {
  readonly items: readonly unknown[];
  /** Of the keyed stream that the items are in, or of the operator that emitted them. */
  readonly keys: readonly Key[] | undefined;
  readonly rounds: readonly number[];
  /** Undefined: all 0. */
  readonly indexes: readonly number[] | undefined;
  /** Event times in ms, if the source has any. */
  readonly times: readonly number[] | undefined;
  readonly origin: string;
  readonly epoch: number;
  /** Uid of the source or stateful operator that the items come from. */
  readonly emitter: string;

  constructor(fields: BatchFields) {
    this.items = fields.items;
    this.keys = fields.keys;
    this.rounds = fields.rounds;
    this.indexes = fields.indexes;
    this.times = fields.times;
    this.origin = fields.origin;
    this.epoch = fields.epoch;
    this.emitter = fields.emitter;
  }

  /** The same items in other form: all that is not given stays. */
  with(changes: Partial<BatchFields>): Batch {
    const { items, keys, rounds, indexes, times, origin, epoch, emitter } = this;
    const fields = { items, keys, rounds, indexes, times, origin, epoch, emitter };
    return new Batch({ ...fields, ...changes });
  }

  indexAt(at: number): number {
    return this.indexes === undefined ? 0 : (this.indexes[at] as number);
  }

  timeAt(at: number): LogicalTime {
    const { epoch, origin } = this;
    return { epoch, round: this.rounds[at] as number, origin, index: this.indexAt(at) };
  }
}

export interface BatchFields {
  readonly items: readonly unknown[];
  readonly keys: readonly Key[] | undefined;
  readonly rounds: readonly number[];
  readonly indexes: readonly number[] | undefined;
  readonly times: readonly number[] | undefined;
  readonly origin: string;
  readonly epoch: number;
  readonly emitter: string;
}

/**
 * The index of child number `child` of an item with this index. The indexes along a path are the words of
 * a prefix code, one behind the other: 0 is the word `0`; n is k ones, a zero and the k low bits of n + 1,
 * where k is the number of its bits less one. So different paths of one depth give different numbers, and
 * an only child of the first item keeps the index 0.
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
    'an item was split so often on its way that its parts can no longer be numbered; split it once instead',
    { details: { limit: 'index' } },
  );
}

/** Collects what one operator emits, and hands it on in batches. */
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

  /** Takes back everything behind the first `length` items. */
  cut(length: number): void {
    for (const list of [this.items, this.keys, this.rounds, this.indexes, this.times]) {
      list.length = length;
    }
  }

  take(origin: string, epoch: number, emitter: string): Batch {
    const batch = new Batch({
      items: this.items,
      keys: this.keys,
      rounds: this.rounds,
      indexes: this.hasIndexes ? this.indexes : undefined,
      times: this.hasTimes ? this.times : undefined,
      origin,
      epoch,
      emitter,
    });
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

/** What the outputs of one batch have in common. */
export interface OutputContext {
  readonly pipeline: string;
  readonly emitter: string;
  readonly origin: string;
  readonly epoch: number;
}

const ID_BYTES = 16;
const scratch = new ByteWriter();

/** One output on its way to a sink. Its time and id are made when they are asked for. */
export class PipelineOutput implements Output<unknown> {
  readonly value: unknown;
  readonly key?: Key;
  readonly #round: number;
  readonly #index: number;
  readonly #context: OutputContext;

  constructor(
    value: unknown,
    key: Key | undefined,
    round: number,
    index: number,
    context: OutputContext,
  ) {
    this.value = value;
    if (key !== undefined) this.key = key;
    this.#round = round;
    this.#index = index;
    this.#context = context;
  }

  get time(): LogicalTime {
    const { epoch, origin } = this.#context;
    return { epoch, round: this.#round, origin, index: this.#index };
  }

  id(): string {
    const { pipeline, emitter, epoch, origin } = this.#context;
    scratch.clear();
    for (const text of [pipeline, emitter]) sized(() => scratch.utf8(text));
    sized(() => {
      if (this.key !== undefined) writeKey(scratch, this.key);
    });
    sized(() => scratch.utf8(origin));
    scratch.i64(epoch);
    scratch.i64(this.#round);
    scratch.i64(this.#index);
    const digest = createHash('sha256').update(scratch.view()).digest();
    return digest.subarray(0, ID_BYTES).toString('base64url');
  }
}

function sized(write: () => void): void {
  const start = scratch.beginSized();
  write();
  scratch.endSized(start);
}
