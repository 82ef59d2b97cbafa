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
import { type Key, keyOrder } from '../state/key.js';
import type { StateSchema } from '../state/state-schema.js';
import { CHANGED_SLOTS, GONE, NOT_KEPT, type SlotTable } from './slot-table.js';

/** The cost of sorting an entry into its group, relative to the cost of encoding it. */
const SORT_COST = 1 / 4;

/** An entry is kept in the last buffer if that is shorter, otherwise in the next one. */
export const KEPT_BYTES = 64 * 1024;
/** For the last entry of a buffer, so that buffers need not grow. */
const KEPT_EXTRA_BYTES = 1_024;
const KEPT_LENGTH_BYTES = 4;
const SLOTS_FIRST = 64;
const NO_SLOTS = new Uint32Array(0);

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
  /** Used by one capture at a time. Default: new. */
  readonly memory?: CaptureMemory;
}

/**
 * Memory that captures reuse. What is allocated for a capture would outlive several collections of young garbage, and
 * a few megabytes of that cause a collection of the whole heap, which stops everything for milliseconds.
 */
export class CaptureMemory {
  /** Kept entries, each after its length. `SlotTable.kept` has their places: `KEPT_BYTES` for each earlier buffer. */
  readonly #kept: ByteWriter[] = [];
  #keptCount = 0;
  /** By group, followed by unused space. */
  readonly #slots: Uint32Array[] = [];
  readonly #slotCounts: number[] = [];

  /** Buffers that the last capture did not need are freed. */
  clear(): void {
    this.#kept.length = this.#keptCount;
    this.#keptCount = 0;
    this.#slotCounts.fill(0);
  }

  /** The buffer for the next kept entry. */
  bufferToKeep(): ByteWriter {
    const last = this.#kept[this.#keptCount - 1];
    if (last !== undefined && last.length < KEPT_BYTES) return last;
    const next = this.#kept[this.#keptCount] ?? new ByteWriter(KEPT_BYTES + KEPT_EXTRA_BYTES);
    next.clear();
    this.#kept[this.#keptCount] = next;
    this.#keptCount += 1;
    return next;
  }

  /** The place of what starts here in the buffer for the next kept entry. */
  placeOf(start: number): number {
    return (this.#keptCount - 1) * KEPT_BYTES + start;
  }

  bufferAt(place: number): ByteWriter {
    return this.#kept[Math.floor(place / KEPT_BYTES)] as ByteWriter;
  }

  addSlot(group: number, slot: number): void {
    const count = this.#slotCounts[group] ?? 0;
    let slots = this.#slots[group];
    if (slots === undefined || count === slots.length) {
      const grown = new Uint32Array(Math.max(SLOTS_FIRST, 2 * count));
      if (slots !== undefined) grown.set(slots);
      this.#slots[group] = grown;
      slots = grown;
    }
    slots[count] = slot;
    this.#slotCounts[group] = count + 1;
  }

  slotsOf(group: number): Uint32Array {
    return (this.#slots[group] ?? NO_SLOTS).subarray(0, this.#slotCounts[group]);
  }
}

export class MemoryCapture<V, Ver, Result> {
  readonly #schema: StateSchema<V, Ver>;
  readonly #options: CaptureOptions<V, Ver, Result>;
  /** Slots that were added later are not part of the capture. */
  readonly #slotsEnd: number;
  readonly #memory: CaptureMemory;
  readonly #work: Generator<void, Result>;
  #failure: { readonly thrown: unknown } | undefined;
  #result: { readonly value: Result } | undefined;

  constructor(schema: StateSchema<V, Ver>, options: CaptureOptions<V, Ver, Result>) {
    this.#schema = schema;
    this.#options = options;
    this.#slotsEnd = options.table.keys.length;
    this.#memory = options.memory ?? new CaptureMemory();
    this.#memory.clear();
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
    const buffer = this.#memory.bufferToKeep();
    const start = buffer.length;
    try {
      buffer.u32(0);
      this.#writeSlot(buffer, slot);
    } catch (thrown) {
      this.#failure ??= { thrown };
      return;
    }
    buffer.setU32(start, buffer.length - start - KEPT_LENGTH_BYTES);
    table.kept[slot] = this.#memory.placeOf(start);
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
    const budget = new SliceBudget();
    yield* this.#sortSlots(budget);
    const output = this.#options.output();
    for (let group = 0; group < this.#schema.keyGroups; group += 1) {
      const slots = this.#memory.slotsOf(group);
      if (slots.length === 0) continue;
      output.blocks.enter(0, group);
      let values = 0;
      const keys: Key[] = [];
      for (const slot of slots) keys.push(table.keyAt(slot));
      for (const place of keyOrder(keys)) {
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
  *#sortSlots(budget: SliceBudget): Generator<void, void> {
    const { table, slots, changed } = this.#options;
    const { keyGroups } = this.#schema;
    const add = (slot: number) => {
      if (this.#isCaptured(slot)) this.#memory.addSlot(table.groupAt(slot, keyGroups), slot);
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
      const kept = this.#memory.bufferAt(place);
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
