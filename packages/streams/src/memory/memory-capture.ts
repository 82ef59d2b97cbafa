// One capture of a memory state while it is being encoded, a slice at a time, as writes go on: all of the
// state, for a snapshot, or what has changed since the last capture, for a checkpoint.
//
// Starting it copies nothing. Before a slot changes for the first time since, `keep` encodes its old
// content aside (copy on write); a slot that is not touched is encoded when its turn comes. The slot's
// generation says which: the capture's own, it has changed since; one below, it is encoded.
//
// X22  A capture holds the content at the time of the call, whatever is written before it is done.
import { assert } from '@syncline/kernel';
import type { BlockWriter } from '../snapshot/block.js';
import { ByteWriter } from '../snapshot/byte-writer.js';
import { writeEntry, writeRemoval } from '../snapshot/entry.js';
import { SliceBudget } from '../state/cells.js';
import { compareKeys, type Key, keyGroupOf, writeKey } from '../state/key.js';
import type { StateSchema } from '../state/state-schema.js';
import type { SlotTable } from './slot-table.js';

/** Where the entries of a capture go: a snapshot, or the segments of a checkpoint. */
export interface CaptureOutput<Result> {
  readonly blocks: BlockWriter;
  /** Bytes of the blocks that are finished. */
  readonly bytes: number;
  finish(): Result;
}

export interface CaptureOptions<V, Ver, Result> {
  readonly table: SlotTable<V, Ver>;
  /** Above that of every slot that is in use by 2 or more. */
  readonly generation: number;
  /** Slots of an earlier generation are not part of the capture. */
  readonly since: number;
  /** Created when the first slice is encoded. */
  readonly output: () => CaptureOutput<Result>;
  /** The slots to encode. Default: all that are in use. */
  readonly slots?: Iterable<number>;
  /** Keys to encode as removed. None of them is in a slot of the capture. */
  readonly removed?: readonly Key[];
}

export class MemoryCapture<V, Ver, Result> {
  readonly #schema: StateSchema<V, Ver>;
  readonly #options: CaptureOptions<V, Ver, Result>;
  readonly #kept = new Map<number, Uint8Array>();
  readonly #scratch = new ByteWriter();
  readonly #work: Generator<void, Result>;
  #failure: { readonly thrown: unknown } | undefined;
  #result: { readonly value: Result } | undefined;

  constructor(schema: StateSchema<V, Ver>, options: CaptureOptions<V, Ver, Result>) {
    this.#schema = schema;
    this.#options = options;
    this.#work = this.#encode();
  }

  /**
   * Called before a slot of an earlier generation changes. A value that cannot be encoded fails the
   * capture, not the write.
   */
  keep(slot: number): void {
    const { table, generation, since } = this.#options;
    const slotGeneration = table.generations[slot] as number;
    if (slotGeneration < since || slotGeneration >= generation - 1) return;
    try {
      this.#scratch.clear();
      writeEntry(this.#scratch, this.#schema, this.#entryAt(slot));
      this.#kept.set(slot, this.#scratch.copy());
    } catch (thrown) {
      this.#failure ??= { thrown };
    }
  }

  /** Does one slice. True when there is nothing left to do. */
  advance(): boolean {
    if (this.#isDone()) return true;
    try {
      const step = this.#work.next();
      if (step.done === true) this.#result = { value: step.value };
    } catch (thrown) {
      this.#failure = { thrown };
    }
    return this.#isDone();
  }

  /** What the output finished with, or throws what went wrong. */
  result(): Result {
    if (this.#failure !== undefined) throw this.#failure.thrown;
    assert(this.#result !== undefined, 'a capture is asked for its result when it is done');
    return this.#result.value;
  }

  #isDone(): boolean {
    return this.#failure !== undefined || this.#result !== undefined;
  }

  *#encode(): Generator<void, Result> {
    const { table, removed = [] } = this.#options;
    const { keyGroups } = this.#schema;
    const groups = Array.from({ length: keyGroups }, () => [] as number[]);
    const groupOf = (key: Key) => {
      this.#scratch.clear();
      writeKey(this.#scratch, key);
      return keyGroupOf(this.#scratch.view(), keyGroups);
    };
    const budget = new SliceBudget();
    for (const slot of this.#options.slots ?? slotsBelow(table.keys.length)) {
      if (this.#isCaptured(slot)) groups[table.groupAt(slot, groupOf)]?.push(slot);
      if (budget.spend(1, 0)) yield;
    }
    // Below zero stands for a removed key.
    for (const [index, key] of removed.entries()) groups[groupOf(key)]?.push(-1 - index);
    const keyOf = (slot: number) => (slot >= 0 ? table.keyAt(slot) : (removed[-1 - slot] as Key));
    const output = this.#options.output();
    for (const [group, slots] of groups.entries()) {
      slots.sort((left, right) => compareKeys(keyOf(left), keyOf(right)));
      output.blocks.enter(0, group);
      let previous = Number.NaN;
      for (const slot of slots) {
        if (slot === previous) continue; // freed and used again: listed twice
        previous = slot;
        const bytesBefore = output.bytes;
        if (slot >= 0) this.#encodeSlot(output.blocks, slot);
        else this.#encodeRemoval(output.blocks, keyOf(slot));
        if (budget.spend(1, output.bytes - bytesBefore)) yield;
      }
    }
    return output.finish();
  }

  /** Free slots, and keys that came later, are not in the capture. */
  #isCaptured(slot: number): boolean {
    const { table, generation } = this.#options;
    if (table.keys[slot] === undefined) return false;
    return (table.generations[slot] as number) < generation - 1 || this.#kept.has(slot);
  }

  #encodeSlot(blocks: BlockWriter, slot: number): void {
    const { table, generation } = this.#options;
    const kept = this.#kept.get(slot);
    if (kept !== undefined) {
      this.#kept.delete(slot);
      blocks.addEncoded(kept);
      return;
    }
    table.generations[slot] = generation - 1;
    blocks.add(this.#schema, this.#entryAt(slot));
  }

  #encodeRemoval(blocks: BlockWriter, key: Key): void {
    this.#scratch.clear();
    writeRemoval(this.#scratch, key);
    blocks.addEncoded(this.#scratch.view());
  }

  #entryAt(slot: number) {
    const { table } = this.#options;
    return {
      key: table.keyAt(slot),
      value: table.values[slot],
      version: table.versions[slot] as Ver,
    };
  }
}

function* slotsBelow(end: number): Generator<number, void> {
  for (let slot = 0; slot < end; slot += 1) yield slot;
}
