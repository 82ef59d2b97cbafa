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
import { type Entry, writeEntry, writeRemoval } from '../snapshot/entry.js';
import { SliceBudget } from '../state/cells.js';
import { keyOrder } from '../state/key.js';
import type { StateSchema } from '../state/state-schema.js';
import { GONE, type SlotTable } from './slot-table.js';

/** The cost of sorting an entry into its group, relative to the cost of encoding it. */
const SORT_COST = 1 / 8;

/** Size of a buffer of kept entries. Further entries go into a new one, so that buffers need not grow much. */
const KEPT_BYTES = 64 * 1024;

/** Where the entries of a capture go: a snapshot, or the segments of a checkpoint. */
export interface CaptureOutput<Result> {
  readonly blocks: BlockWriter;
  /** Total size of the finished blocks. */
  readonly bytes: number;
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
  /** Encode slots of removed keys as removals, then free them. Default: omit them. */
  readonly hasRemovals?: boolean;
}

export class MemoryCapture<V, Ver, Result> {
  readonly #schema: StateSchema<V, Ver>;
  readonly #options: CaptureOptions<V, Ver, Result>;
  /** By slot: the old value, if it is immutable and has no version. */
  readonly #kept = new Map<number, V | typeof GONE>();
  /** By slot: index of its kept entry. Entries share a few buffers, since an array for each would be much garbage. */
  readonly #keptEntries = new Map<number, number>();
  readonly #entryBuffers: ByteWriter[] = [];
  readonly #entryStarts: number[] = [];
  readonly #entryEnds: number[] = [];
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
   * Called before a slot of an earlier generation changes. A value that cannot be encoded fails the capture, not the
   * write.
   */
  keep(slot: number): void {
    const { table, generation, since } = this.#options;
    const slotGeneration = table.generations[slot] as number;
    if (slotGeneration < since || slotGeneration >= generation - 1) return;
    const value = table.values[slot];
    const isPlain = value !== undefined && typeof value !== 'object';
    if (value === GONE || (isPlain && table.versions[slot] === undefined)) {
      this.#kept.set(slot, value);
      return;
    }
    const last = this.#entryBuffers.at(-1);
    const buffer = last !== undefined && last.length < KEPT_BYTES ? last : new ByteWriter();
    const start = buffer.length;
    try {
      writeEntry(buffer, this.#schema, this.#entryAt(slot, value));
    } catch (thrown) {
      this.#failure ??= { thrown };
      return;
    }
    this.#keptEntries.set(slot, this.#entryBuffers.length);
    this.#entryBuffers.push(buffer);
    this.#entryStarts.push(start);
    this.#entryEnds.push(buffer.length);
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
    const { keyGroups } = this.#schema;
    const groups = Array.from({ length: keyGroups }, () => [] as number[]);
    const budget = new SliceBudget();
    for (const slot of this.#options.slots ?? slotsBelow(table.keys.length)) {
      if (this.#isCaptured(slot)) groups[table.groupAt(slot, keyGroups)]?.push(slot);
      if (budget.spend(SORT_COST, 0)) yield;
    }
    const output = this.#options.output();
    for (const [group, slots] of groups.entries()) {
      output.blocks.enter(0, group);
      let previous = Number.NaN;
      for (const place of keyOrder(slots.map((slot) => table.keyAt(slot)))) {
        const slot = slots[place] as number;
        if (slot === previous) continue; // listed twice
        previous = slot;
        const bytesBefore = output.bytes;
        this.#encodeSlot(output.blocks, slot);
        if (budget.spend(1, output.bytes - bytesBefore)) yield;
      }
    }
    return output.finish();
  }

  /** Free slots and keys that were added later are not part of the capture. */
  #isCaptured(slot: number): boolean {
    const { table, generation } = this.#options;
    if (table.keys[slot] === undefined) return false;
    if ((table.generations[slot] as number) < generation - 1) return true;
    return this.#keptEntries.has(slot) || this.#kept.has(slot);
  }

  #encodeSlot(blocks: BlockWriter, slot: number): void {
    const { table, generation, hasRemovals = false } = this.#options;
    const isKept = table.generations[slot] === generation;
    const entry = isKept ? this.#keptEntries.get(slot) : undefined;
    if (entry !== undefined) {
      blocks.addEncoded(
        (this.#entryBuffers[entry] as ByteWriter).view(
          this.#entryStarts[entry],
          this.#entryEnds[entry],
        ),
      );
      return;
    }
    const value = isKept ? this.#kept.get(slot) : table.values[slot];
    if (!isKept) table.generations[slot] = generation - 1;
    if (value !== GONE) blocks.add(this.#schema, this.#entryAt(slot, value));
    else if (hasRemovals) {
      this.#scratch.clear();
      writeRemoval(this.#scratch, table.keyAt(slot));
      blocks.addEncoded(this.#scratch.view());
      if (!isKept) table.free(slot);
    }
  }

  #entryAt(slot: number, value: V | undefined): Entry<V, Ver> {
    const { table } = this.#options;
    return { key: table.keyAt(slot), value, version: table.versions[slot] as Ver };
  }
}

function* slotsBelow(end: number): Generator<number, void> {
  for (let slot = 0; slot < end; slot += 1) yield slot;
}
