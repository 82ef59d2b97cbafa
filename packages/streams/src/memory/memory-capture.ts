// One snapshot of a memory state while it is being encoded, a slice at a time, as writes go on.
//
// It starts with references to all cells, so starting is cheap. Before a cell changes for the first time
// since, `keep` encodes its old content aside (copy on write); a cell that nobody touches is encoded when
// its turn comes. A cell's generation says which: below the capture's, the cell is still as it was.
//
// X22  A snapshot holds the content at the time of the call, whatever is written before it is done.

import { ByteWriter } from '../snapshot/byte-writer.js';
import { writeEntry } from '../snapshot/entry.js';
import { SnapshotWriter, type SnapshotWriterOptions } from '../snapshot/snapshot-file.js';
import { SliceBudget } from '../state/cells.js';
import { compareKeys, type Key, keyGroupOf, writeKey } from '../state/key.js';
import type { StateSchema } from '../state/state-schema.js';

export class MemoryCell<V, Ver> {
  readonly key: Key;
  value: V | undefined;
  version: Ver;
  /** Of the last capture that needs nothing more of this cell. */
  generation: number;
  /** Computed when first needed; -1 until then. */
  group = -1;

  constructor(key: Key, value: V | undefined, version: Ver, generation: number) {
    this.key = key;
    this.value = value;
    this.version = version;
    this.generation = generation;
  }
}

export class MemoryCapture<V, Ver> {
  readonly #schema: StateSchema<V, Ver>;
  readonly #options: SnapshotWriterOptions;
  readonly #generation: number;
  readonly #kept = new Map<MemoryCell<V, Ver>, Uint8Array>();
  readonly #scratch = new ByteWriter();
  readonly #work: Generator<void, Uint8Array>;
  #failure: { readonly thrown: unknown } | undefined;
  #result: Uint8Array | undefined;

  /** Takes all of `cells`, which no one else changes. */
  constructor(
    schema: StateSchema<V, Ver>,
    cells: readonly MemoryCell<V, Ver>[],
    generation: number,
    options: SnapshotWriterOptions,
  ) {
    this.#schema = schema;
    this.#options = options;
    this.#generation = generation;
    this.#work = this.#encode(cells);
  }

  /** Called before a cell of an earlier generation changes. A value that cannot be encoded fails the snapshot, not the write. */
  keep(cell: MemoryCell<V, Ver>): void {
    try {
      this.#scratch.clear();
      writeEntry(this.#scratch, this.#schema, cell);
      this.#kept.set(cell, this.#scratch.copy());
    } catch (thrown) {
      this.#failure ??= { thrown };
    }
  }

  /** Does one slice. True when there is nothing left to do. */
  advance(): boolean {
    if (this.#failure !== undefined || this.#result !== undefined) return true;
    try {
      const step = this.#work.next();
      if (step.done === true) this.#result = step.value;
    } catch (thrown) {
      this.#failure = { thrown };
    }
    return this.#failure !== undefined || this.#result !== undefined;
  }

  /** The finished snapshot, or throws what went wrong. */
  result(): Uint8Array {
    if (this.#failure !== undefined) throw this.#failure.thrown;
    return this.#result ?? new Uint8Array(0);
  }

  *#encode(cells: readonly MemoryCell<V, Ver>[]): Generator<void, Uint8Array> {
    const budget = new SliceBudget();
    const groups = Array.from({ length: this.#schema.keyGroups }, () => [] as MemoryCell<V, Ver>[]);
    for (const cell of cells) {
      groups[this.#groupOf(cell)]?.push(cell);
      if (budget.spend(1, 0)) yield;
    }
    const writer = new SnapshotWriter(this.#schema, this.#options);
    for (const [group, members] of groups.entries()) {
      members.sort((left, right) => compareKeys(left.key, right.key));
      writer.blocks.enter(0, group);
      for (const cell of members) {
        const before = writer.bytes;
        this.#encodeCell(writer, cell);
        if (budget.spend(1, writer.bytes - before)) yield;
      }
    }
    return writer.finish();
  }

  #encodeCell(writer: SnapshotWriter<V, Ver>, cell: MemoryCell<V, Ver>): void {
    if (cell.generation < this.#generation) {
      cell.generation = this.#generation;
      writer.blocks.add(this.#schema, cell);
      return;
    }
    const kept = this.#kept.get(cell);
    if (kept === undefined) return;
    this.#kept.delete(cell);
    writer.blocks.addEncoded(kept);
  }

  #groupOf(cell: MemoryCell<V, Ver>): number {
    if (cell.group === -1) {
      this.#scratch.clear();
      writeKey(this.#scratch, cell.key);
      cell.group = keyGroupOf(this.#scratch.view(), this.#schema.keyGroups);
    }
    return cell.group;
  }
}
