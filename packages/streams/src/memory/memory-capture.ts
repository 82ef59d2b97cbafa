// A capture of a memory state, which is encoded in slices while writes continue: the whole state, for a snapshot, or
// the changes since the last capture, for a checkpoint.
//
// Starting it copies nothing. Before a slot changes for the first time since then, `keep` saves its old content (copy
// on write); an unchanged slot is encoded when its turn comes. The generation of a slot tells which: if it is that of
// the capture, the slot has changed since; if it is one less, the slot has been encoded.
//
// X22  A capture contains the content at the time of the call, regardless of what is written before it is done.
import { assert } from '@syncline/kernel';
import type { BlockWriter } from '../snapshot/block.js';
import { ByteWriter } from '../snapshot/byte-writer.js';
import { REMOVED, writeEntry, writeRemoval } from '../snapshot/entry.js';
import type { SegmentContent } from '../snapshot/segment.js';
import { SliceBudget } from '../state/cells.js';
import { keyOrder } from '../state/key.js';
import type { StateSchema } from '../state/state-schema.js';
import { CHANGED_SLOTS, GONE, NOT_KEPT, type SlotTable } from './slot-table.js';

/** The cost of sorting an entry into its group, relative to the cost of encoding it. */
const SORT_COST = 1 / 4;

/** An entry is kept in the last buffer if that is shorter, otherwise in a new one, so that buffers need not grow. */
const KEPT_BYTES = 64 * 1024;
const KEPT_LENGTH_BYTES = 4;

/** Where the entries of a capture go: a snapshot, or the segments of a checkpoint. */
export interface CaptureOutput<Result> {
  readonly blocks: BlockWriter;
  /** Total size of the finished blocks. */
  readonly bytes: number;
  /** Called after the entries of a group were added. */
  endGroup?(group: number, holds: SegmentContent): void;
  finish(): Result;
}

export interface CaptureOptions<V, Ver, Result> {
  readonly table: SlotTable<V, Ver>;
  /** At least 2 above the generation of every slot in use. */
  readonly generation: number;
  /** Slots of an earlier generation are not part of the capture. */
  readonly since: number;
  /** Created when the first slice is encoded. */
  readonly output: () => CaptureOutput<Result>;
  /** The slots to encode. Default: all slots in use. */
  readonly slots?: Iterable<number>;
  /**
   * For changes: what `SlotTable.takeChanged` returned. Slots of removed keys are then encoded as removals and freed;
   * by default they are omitted.
   */
  readonly changed?: Uint8Array;
}

export class MemoryCapture<V, Ver, Result> {
  readonly #schema: StateSchema<V, Ver>;
  readonly #options: CaptureOptions<V, Ver, Result>;
  /** Slots that were added later are not part of the capture. */
  readonly #slotsEnd: number;
  /** Kept entries, each after its length. `SlotTable.kept` has their places: `KEPT_BYTES` for each earlier buffer. */
  readonly #kept: ByteWriter[] = [];
  readonly #work: Generator<void, Result>;
  #failure: { readonly thrown: unknown } | undefined;
  #result: { readonly value: Result } | undefined;

  constructor(schema: StateSchema<V, Ver>, options: CaptureOptions<V, Ver, Result>) {
    this.#schema = schema;
    this.#options = options;
    this.#slotsEnd = options.table.keys.length;
    this.#work = this.#encode();
  }

  /**
   * Called before a slot of an earlier generation changes. A value that cannot be encoded fails the capture, not the
   * write.
   */
  keep(slot: number): void {
    const { table, generation, since, changed } = this.#options;
    const slotGeneration = table.generations[slot] as number;
    table.kept[slot] = NOT_KEPT;
    if (slotGeneration < since || slotGeneration >= generation - 1) return;
    if (table.values[slot] === GONE && changed === undefined) return;
    let buffer = this.#kept.at(-1);
    if (buffer === undefined || buffer.length >= KEPT_BYTES) {
      buffer = new ByteWriter(KEPT_BYTES);
      this.#kept.push(buffer);
    }
    const start = buffer.length;
    try {
      buffer.u32(0);
      this.#writeSlot(buffer, slot);
    } catch (thrown) {
      this.#failure ??= { thrown };
      return;
    }
    buffer.setU32(start, buffer.length - start - KEPT_LENGTH_BYTES);
    table.kept[slot] = (this.#kept.length - 1) * KEPT_BYTES + start;
  }

  /** Encodes one slice. Returns true when there is nothing left to do. */
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

  /** The result of the output. Throws if encoding failed. */
  result(): Result {
    if (this.#failure !== undefined) throw this.#failure.thrown;
    assert(this.#result !== undefined, 'a capture has a result when it is done');
    return this.#result.value;
  }

  #isDone(): boolean {
    return this.#failure !== undefined || this.#result !== undefined;
  }

  *#encode(): Generator<void, Result> {
    const { table } = this.#options;
    const groups = Array.from({ length: this.#schema.keyGroups }, () => [] as number[]);
    const budget = new SliceBudget();
    yield* this.#sortSlots(groups, budget);
    const output = this.#options.output();
    for (const [group, slots] of groups.entries()) {
      if (slots.length === 0) continue;
      output.blocks.enter(0, group);
      let values = 0;
      for (const place of keyOrder(slots.map((slot) => table.keyAt(slot)))) {
        const bytesBefore = output.bytes;
        if (this.#encodeSlot(output.blocks, slots[place] as number, group)) values += 1;
        if (budget.spend(1, output.bytes - bytesBefore)) yield;
      }
      const isWhole = values === table.storedIn(group);
      output.endGroup?.(group, !isWhole ? 'changes' : values > 0 ? 'all' : 'nothing');
    }
    return output.finish();
  }

  /** Adds the captured slots to their groups. */
  *#sortSlots(groups: readonly number[][], budget: SliceBudget): Generator<void, void> {
    const { table, slots, changed } = this.#options;
    const { keyGroups } = this.#schema;
    const add = (slot: number) => {
      if (this.#isCaptured(slot)) groups[table.groupAt(slot, keyGroups)]?.push(slot);
    };
    if (slots !== undefined) {
      for (const slot of slots) {
        add(slot);
        if (budget.spend(SORT_COST, 0)) yield;
      }
      return;
    }
    const end = this.#slotsEnd;
    for (let start = 0; start < end; start += CHANGED_SLOTS) {
      if (changed !== undefined && changed[start / CHANGED_SLOTS] !== 1) continue;
      const stop = Math.min(start + CHANGED_SLOTS, end);
      for (let slot = start; slot < stop; slot += 1) add(slot);
      if (budget.spend(CHANGED_SLOTS * SORT_COST, 0)) yield;
    }
  }

  /** Free slots, and keys that were added later, are not part of the capture. */
  #isCaptured(slot: number): boolean {
    const { table, generation, since } = this.#options;
    const slotGeneration = table.generations[slot] as number;
    if (slotGeneration === generation) return table.kept[slot] !== NOT_KEPT;
    return (
      slotGeneration >= since && slotGeneration < generation - 1 && table.keys[slot] !== undefined
    );
  }

  /** Returns true if the slot has a value or a tombstone, false if its key was removed. */
  #encodeSlot(blocks: BlockWriter, slot: number, group: number): boolean {
    const { table, generation, changed } = this.#options;
    let isRemoved: boolean;
    if (table.generations[slot] === generation) {
      const place = table.kept[slot] as number;
      if (place === NOT_KEPT) return false; // it was removed before the capture, and has come back since
      const kept = this.#kept[Math.floor(place / KEPT_BYTES)] as ByteWriter;
      const lengthAt = place % KEPT_BYTES;
      const start = lengthAt + KEPT_LENGTH_BYTES;
      isRemoved = kept.buffer[start] === REMOVED;
      blocks.addEncoded(kept.buffer, start, start + kept.getU32(lengthAt));
    } else {
      isRemoved = table.values[slot] === GONE;
      table.generations[slot] = generation - 1;
      if (isRemoved && changed === undefined) return false;
      this.#writeSlot(blocks.beginEntry(), slot);
      blocks.endEntry();
      if (isRemoved) table.free(slot);
    }
    if (changed !== undefined) table.setStored(slot, group, !isRemoved);
    return !isRemoved;
  }

  #writeSlot(writer: ByteWriter, slot: number): void {
    const { table } = this.#options;
    const key = table.keyAt(slot);
    const value = table.values[slot];
    if (value === GONE) writeRemoval(writer, key);
    else writeEntry(writer, this.#schema, key, value, table.versions[slot] as Ver);
  }
}
