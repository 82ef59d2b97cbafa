// One snapshot of a memory state while it is being encoded, a slice at a time, as writes go on.
//
// Starting it copies nothing. Before a slot changes for the first time since, `keep` encodes its old
// content aside (copy on write); a slot that nobody touches is encoded when its turn comes. The slot's
// generation says which: below the capture's, its content is still that of the start.
//
// X22  A snapshot holds the content at the time of the call, whatever is written before it is done.
import { assert } from '@syncline/kernel';
import { ByteWriter } from '../snapshot/byte-writer.js';
import { writeEntry } from '../snapshot/entry.js';
import { SnapshotWriter, type SnapshotWriterOptions } from '../snapshot/snapshot-file.js';
import { SliceBudget } from '../state/cells.js';
import { compareKeys, type Key, keyGroupOf, writeKey } from '../state/key.js';
import type { StateSchema } from '../state/state-schema.js';
import type { SlotTable } from './slot-table.js';

export interface CaptureOptions<V, Ver> extends SnapshotWriterOptions {
  readonly table: SlotTable<V, Ver>;
  /** Above that of every slot that is in use. */
  readonly generation: number;
  /** The slots to encode. Default: all that are in use. */
  readonly slots?: Iterable<number>;
}

export class MemoryCapture<V, Ver> {
  readonly #schema: StateSchema<V, Ver>;
  readonly #options: CaptureOptions<V, Ver>;
  readonly #slots: Iterable<number>;
  readonly #kept = new Map<number, Uint8Array>();
  readonly #scratch = new ByteWriter();
  readonly #work: Generator<void, Uint8Array>;
  #failure: { readonly thrown: unknown } | undefined;
  #result: Uint8Array | undefined;

  constructor(schema: StateSchema<V, Ver>, options: CaptureOptions<V, Ver>) {
    this.#schema = schema;
    this.#options = options;
    this.#slots = options.slots ?? slotsBelow(options.table.keys.length);
    this.#work = this.#encode();
  }

  /**
   * Called before a slot of an earlier generation changes. A value that cannot be encoded fails the
   * snapshot, not the write.
   */
  keep(slot: number): void {
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
      if (step.done === true) this.#result = step.value;
    } catch (thrown) {
      this.#failure = { thrown };
    }
    return this.#isDone();
  }

  /** The finished snapshot, or throws what went wrong. */
  result(): Uint8Array {
    if (this.#failure !== undefined) throw this.#failure.thrown;
    assert(this.#result !== undefined, 'a snapshot is asked for when it is done');
    return this.#result;
  }

  #isDone(): boolean {
    return this.#failure !== undefined || this.#result !== undefined;
  }

  *#encode(): Generator<void, Uint8Array> {
    const { table } = this.#options;
    const { keyGroups } = this.#schema;
    const groups = Array.from({ length: keyGroups }, () => [] as number[]);
    const groupOf = (key: Key) => {
      this.#scratch.clear();
      writeKey(this.#scratch, key);
      return keyGroupOf(this.#scratch.view(), keyGroups);
    };
    const budget = new SliceBudget();
    for (const slot of this.#slots) {
      if (this.#isCaptured(slot)) groups[table.groupAt(slot, groupOf)]?.push(slot);
      if (budget.spend(1, 0)) yield;
    }
    const writer = new SnapshotWriter(this.#schema, this.#options);
    for (const [group, slots] of groups.entries()) {
      slots.sort((left, right) => compareKeys(table.keyAt(left), table.keyAt(right)));
      writer.blocks.enter(0, group);
      for (const slot of slots) {
        const bytesBefore = writer.bytes;
        this.#encodeSlot(writer, slot);
        if (budget.spend(1, writer.bytes - bytesBefore)) yield;
      }
    }
    return writer.finish();
  }

  /** Free slots, and keys that came later, are not in the snapshot. */
  #isCaptured(slot: number): boolean {
    const { table, generation } = this.#options;
    if (table.keys[slot] === undefined) return false;
    return (table.generations[slot] as number) < generation || this.#kept.has(slot);
  }

  #encodeSlot(writer: SnapshotWriter<V, Ver>, slot: number): void {
    const { table, generation } = this.#options;
    const kept = this.#kept.get(slot);
    if (kept !== undefined) {
      this.#kept.delete(slot);
      writer.blocks.addEncoded(kept);
      return;
    }
    table.generations[slot] = generation;
    writer.blocks.add(this.#schema, this.#entryAt(slot));
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
