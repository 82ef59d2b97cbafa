// Cells in a heap map: the fastest place for state that fits into memory, and the reference for others.
//
// An update costs one lookup. Nothing is encoded then: keys and values become bytes when a snapshot or a
// checkpoint needs them. Each slot carries the generation in which it last changed, so a write compares
// two numbers to know whether a running capture still needs the old content, and whether the slot is
// listed as changed already.
import { assert } from '@syncline/kernel';
import { ByteWriter } from '../snapshot/byte-writer.js';
import { type Entry, writeEntry } from '../snapshot/entry.js';
import { type Segment, SegmentWriter } from '../snapshot/segment.js';
import { SnapshotWriter } from '../snapshot/snapshot-file.js';
import { type Cells, nextTurn, readSnapshot, runInSlices, type Turns } from '../state/cells.js';
import { checkKey, type Key, showKey } from '../state/key.js';
import { inState } from '../state/state-error.js';
import type { StateSchema } from '../state/state-schema.js';
import { type CaptureOutput, MemoryCapture } from './memory-capture.js';
import { SlotTable } from './slot-table.js';

export interface MemoryCellsOptions {
  readonly snapshotBytesMax: number;
  /** Changes are listed for `captureChanges`. Default false. */
  readonly isTracked?: boolean;
}

/** Of changed entries one in this many is encoded to estimate the bytes of all. */
const SAMPLE_EVERY = 64;

/** A cell is the number of a slot. */
export class MemoryCells<V, Ver> implements Cells<V, Ver, number> {
  readonly schema: StateSchema<V, Ver>;
  readonly #turns: Turns;
  readonly #options: MemoryCellsOptions;
  #table = new SlotTable<V, Ver>();
  #tombstones = new Set<number>();
  /** Of the newest capture. Every slot is of this generation or an earlier one. Even. */
  #generation = 2;
  /** Of the newest capture of changes. */
  #trackedSince = 2;
  /** Slots that changed since; one may be listed twice. */
  #changed: number[] = [];
  #removed = new Set<Key>();
  #changedBytes = 0;
  #sampleIn = 1;
  /** The capture that is being encoded; there is at most one. */
  #capture: MemoryCapture<V, Ver, unknown> | undefined;
  #isRestoring = false;
  readonly #scratch = new ByteWriter();

  constructor(schema: StateSchema<V, Ver>, turns: Turns, options: MemoryCellsOptions) {
    this.schema = schema;
    this.#turns = turns;
    this.#options = options;
  }

  /** A key that is found has been checked before. */
  find(key: Key): number | undefined {
    const slot = this.#table.slots.get(key);
    if (slot === undefined) checkKey(key);
    return slot;
  }

  edit(key: Key): number | undefined {
    const slot = this.find(key);
    if (slot !== undefined && this.#table.generations[slot] !== this.#generation) this.#enter(slot);
    return slot;
  }

  valueAt(slot: number): V | undefined {
    return this.#table.values[slot];
  }

  versionAt(slot: number): Ver {
    return this.#table.versions[slot] as Ver;
  }

  insert(key: Key, value: V | undefined, version: Ver): void {
    this.#assertWritable();
    if (value !== undefined) this.#checkValue(value, key);
    const slot = this.#table.insert(key, value, version, this.#generation);
    if (value === undefined) this.#tombstones.add(slot);
    if (this.#options.isTracked !== true) return;
    this.#removed.delete(key);
    this.#list(slot);
  }

  /** Adds what was stored: it counts as unchanged. A later call for the same key replaces it. */
  load(key: Key, value: V | undefined, version: Ver): void {
    this.unload(key);
    const slot = this.#table.insert(key, value, version, 0);
    if (value === undefined) this.#tombstones.add(slot);
  }

  unload(key: Key): void {
    const slot = this.#table.slots.get(key);
    if (slot === undefined) return;
    this.#table.remove(slot, key);
    this.#tombstones.delete(slot);
    this.#table.release();
  }

  /** Lists everything as changed. */
  touchAll(): void {
    for (const slot of this.#table.slots.values()) {
      this.#table.generations[slot] = this.#generation;
      this.#list(slot);
    }
  }

  /** Keys that have a value or a tombstone. */
  get count(): number {
    return this.#table.slots.size;
  }

  /** Estimated bytes of what has changed since the last `captureChanges`. */
  get changedBytes(): number {
    return this.#changedBytes;
  }

  /** Entries without tombstones, in no order. */
  *entries(): Generator<Entry<V, Ver>> {
    for (const [key, slot] of this.#table.slots) {
      const value = this.#table.values[slot];
      if (value !== undefined) yield { key, value, version: this.#table.versions[slot] as Ver };
    }
  }

  /**
   * Takes what has changed since the last call, in O(1). The result encodes it in slices: each `advance`
   * does one, until it returns true; then `result` has the segments.
   */
  captureChanges(): MemoryCapture<V, Ver, readonly Segment[]> {
    this.#startGeneration();
    const capture = new MemoryCapture<V, Ver, readonly Segment[]>(this.schema, {
      table: this.#table,
      generation: this.#generation,
      since: this.#trackedSince,
      output: () => new SegmentWriter(),
      slots: this.#changed,
      removed: [...this.#removed],
    });
    this.#capture = capture;
    this.#trackedSince = this.#generation;
    this.#changed = [];
    this.#removed = new Set();
    this.#changedBytes = 0;
    return capture;
  }

  /** The changes that `captureChanges` took are encoded. */
  endCapture(): void {
    this.#capture = undefined;
    this.#table.release();
  }

  change(slot: number, value: V | undefined, version: Ver): void {
    const table = this.#table;
    if (value !== undefined) this.#checkValue(value, undefined, slot);
    if (table.generations[slot] !== this.#generation) this.#enter(slot);
    if (value === undefined) this.#tombstones.add(slot);
    else if (table.values[slot] === undefined) this.#tombstones.delete(slot);
    table.values[slot] = value;
    if (version !== undefined) table.versions[slot] = version;
  }

  remove(slot: number): void {
    const table = this.#table;
    if (table.generations[slot] !== this.#generation) this.#enter(slot);
    const key = table.keyAt(slot);
    table.remove(slot, key);
    this.#tombstones.delete(slot);
    if (this.#options.isTracked === true) this.#removed.add(key);
    if (this.#capture === undefined) table.release();
  }

  writeAll(entries: readonly Entry<V, Ver>[]): void {
    for (const { key, value } of entries) if (value !== undefined) this.#checkValue(value, key);
    for (const { key, value, version } of entries) {
      const slot = this.find(key);
      if (slot === undefined) this.insert(key, value, version);
      else this.change(slot, value, version);
    }
  }

  removeTombstones(isOld: (version: Ver) => boolean): number {
    let removed = 0;
    for (const slot of this.#tombstones) {
      if (!isOld(this.versionAt(slot))) continue;
      this.remove(slot);
      removed += 1;
    }
    return removed;
  }

  async snapshot(): Promise<Uint8Array> {
    return this.#encode();
  }

  async snapshotForKeys(keys: Iterable<Key>): Promise<Uint8Array> {
    const slots = new Set<number>();
    for (const key of keys) {
      const slot = this.find(key);
      if (slot !== undefined) slots.add(slot);
    }
    return this.#encode(slots);
  }

  async restore(bytes: Uint8Array): Promise<void> {
    this.#assertWritable();
    const table = new SlotTable<V, Ver>();
    const tombstones = new Set<number>();
    const reading = readSnapshot(bytes, this.schema, 'whole', ({ key, value, version }) => {
      const slot = table.insert(key, value, version, 0);
      if (value === undefined) tombstones.add(slot);
    });
    // A new generation: the next write to any slot passes #enter, which notices the restore.
    this.#startGeneration();
    this.#isRestoring = true;
    try {
      await runInSlices(reading, this.#turns);
    } finally {
      this.#isRestoring = false;
    }
    this.#table = table;
    this.#tombstones = tombstones;
    this.#capture = undefined; // one that has begun meanwhile has the old table to itself
  }

  async #encode(slots?: Iterable<number>): Promise<Uint8Array> {
    this.#startGeneration();
    const { snapshotBytesMax: bytesMax } = this.#options;
    const isPartial = slots !== undefined;
    const output = (): CaptureOutput<Uint8Array> =>
      new SnapshotWriter(this.schema, { isPartial, bytesMax });
    const capture = new MemoryCapture<V, Ver, Uint8Array>(this.schema, {
      table: this.#table,
      generation: this.#generation,
      since: 0,
      output,
      ...(slots !== undefined && { slots }),
    });
    this.#capture = capture;
    while (!capture.advance()) await nextTurn(this.#turns);
    if (this.#capture === capture) this.endCapture();
    return capture.result();
  }

  /** Finishes the running capture at once: slots of two generations ago could not be told apart. */
  #startGeneration(): void {
    while (this.#capture?.advance() === false);
    if (this.#capture !== undefined) this.endCapture();
    this.#generation += 2;
  }

  /** The first change of a slot in this generation. */
  #enter(slot: number): void {
    this.#assertWritable();
    this.#capture?.keep(slot);
    this.#table.generations[slot] = this.#generation;
    if (this.#options.isTracked === true) this.#list(slot);
  }

  #list(slot: number): void {
    this.#changed.push(slot);
    this.#sampleIn -= 1;
    if (this.#sampleIn > 0) return;
    this.#sampleIn = SAMPLE_EVERY;
    this.#changedBytes += SAMPLE_EVERY * this.#bytesOf(slot);
  }

  /** Of the entry as it is now, before its change; a value that cannot be encoded fails later. */
  #bytesOf(slot: number): number {
    const { keys, values, versions } = this.#table;
    try {
      this.#scratch.clear();
      const entry = { key: keys[slot] as Key, value: values[slot], version: versions[slot] as Ver };
      writeEntry(this.#scratch, this.schema, entry);
      return this.#scratch.length;
    } catch {
      return 0;
    }
  }

  /** Refuses a value while its record is known. To look up the key each time would be a cache miss. */
  #checkValue(value: V, key: Key | undefined, slot = -1): void {
    const { codec, uid } = this.schema;
    if (codec.check === undefined) return;
    try {
      codec.check(value);
    } catch (thrown) {
      throw inState(uid, showKey(key ?? this.#table.keyAt(slot)), thrown);
    }
  }

  #assertWritable(): void {
    assert(!this.#isRestoring, 'a state must not be written to while it is being restored');
  }
}
