// Cells on the heap: the fastest backend for state that fits into memory, and the reference for others.
//
// An update costs one lookup and encodes nothing: keys and values are encoded when a snapshot or a checkpoint needs
// them. Each slot has the generation in which it last changed, so a write only compares two numbers to determine
// whether a running capture still needs the old content, and whether the slot is already listed as changed.
//
// Groups restored from a checkpoint stay encoded until one of their keys is first looked up: a start with 1,000,000
// keys need not wait until all of them are decoded.
import { assert } from '@syncline/kernel';
import { ByteWriter } from '../snapshot/byte-writer.js';
import { type Entry, writeEntry } from '../snapshot/entry.js';
import { readSegment, type Segment, SegmentWriter } from '../snapshot/segment.js';
import { SnapshotWriter } from '../snapshot/snapshot-file.js';
import { type Cells, nextTurn, readSnapshot, runInSlices, type Turns } from '../state/cells.js';
import { checkKey, groupOf, type Key, showKey } from '../state/key.js';
import { inState } from '../state/state-error.js';
import type { StateSchema } from '../state/state-schema.js';
import { CaptureMemory, type CaptureOutput, MemoryCapture } from './memory-capture.js';
import { GONE, SlotTable } from './slot-table.js';

export interface MemoryCellsOptions {
  readonly snapshotBytesMax: number;
  /** Track changes for `captureChanges`. Default false. */
  readonly isTracked?: boolean;
}

/** The stored segments of a key group, with verified checksums. */
export interface StoredGroup {
  /** Oldest first. */
  readonly segments: readonly { readonly name: string; readonly bytes: Uint8Array }[];
  readonly entries: number;
}

/** One in this many changed entries is encoded to estimate the size of all; for large entries, more are. */
const SAMPLE_EVERY = 64;
/** Maximum size that one sample represents. */
const SAMPLE_BYTES_MAX = 1024 * 1024;

/** A cell is the number of a slot. */
export class MemoryCells<V, Ver> implements Cells<V, Ver, number> {
  readonly schema: StateSchema<V, Ver>;
  readonly #turns: Turns;
  readonly #options: MemoryCellsOptions;
  #table = new SlotTable<V, Ver>();
  #tombstones = new Set<number>();
  /** Generation of the newest capture. No slot has a later one. Always even. */
  #generation = 2;
  /** Generation of the newest capture of changes. */
  #trackedSince = 2;
  /** Slots to free when the running capture ends. Captures of changes free their slots themselves. */
  #gone: number[] = [];
  #changedBytes = 0;
  #sampleIn = 1;
  /** The capture that is being encoded, if any. */
  #capture: MemoryCapture<V, Ver, unknown> | undefined;
  readonly #captureMemory = new CaptureMemory();
  #isRestoring = false;
  /** Groups that are not decoded yet, and the schema that reads them. */
  #stored = new Map<number, StoredGroup>();
  #reader: StateSchema<V, Ver>;
  readonly #scratch = new ByteWriter();
  constructor(schema: StateSchema<V, Ver>, turns: Turns, options: MemoryCellsOptions) {
    this.schema = schema;
    this.#turns = turns;
    this.#options = options;
    this.#reader = schema;
  }

  /** A key that is found has already been checked. */
  find(key: Key): number | undefined {
    const slot = this.#table.slotOf(key);
    if (slot !== undefined) return this.#table.values[slot] === GONE ? undefined : slot;
    checkKey(key);
    return this.#stored.size === 0 ? undefined : this.#findStored(key);
  }

  warm(keys: readonly Key[]): void {
    this.#table.warm(keys);
  }

  #findStored(key: Key): number | undefined {
    const group = groupOf(key, this.schema.keyGroups);
    const stored = this.#stored.get(group);
    if (stored !== undefined) this.#decode(group, stored);
    return this.#table.slots.get(key);
  }

  edit(key: Key): number | undefined {
    const slot = this.find(key);
    if (slot !== undefined && this.#table.generations[slot] !== this.#generation) this.#enter(slot);
    return slot;
  }

  valueAt(slot: number): V | undefined {
    return this.#table.values[slot] as V | undefined;
  }

  versionAt(slot: number): Ver {
    return this.#table.versions[slot] as Ver;
  }

  insert(key: Key, value: V | undefined, version: Ver): void {
    this.#assertWritable();
    if (value !== undefined) this.#checkValue(value, key);
    const table = this.#table;
    let slot = table.goneSlot(key);
    if (slot === undefined) {
      slot = table.insert(key, value, version, this.#generation);
      if (this.#options.isTracked === true) this.#list(slot);
    } else {
      if (table.generations[slot] !== this.#generation) this.#enter(slot);
      table.set(slot, value, version);
    }
    if (value === undefined) this.#tombstones.add(slot);
  }

  /** Takes over stored groups, which count as unchanged. The cells must be empty. */
  attach(groups: ReadonlyMap<number, StoredGroup>, reader: StateSchema<V, Ver>): void {
    assert(this.count === 0, 'stored groups are attached to empty cells');
    this.#stored = new Map(groups);
    for (const group of groups.keys()) this.#table.setStoredIn(group, Number.POSITIVE_INFINITY);
    this.#reader = reader;
  }

  /** Decodes the remaining groups, one per slice. */
  *loadRest(): Generator<void, void> {
    for (const [group, stored] of this.#stored) {
      this.#decode(group, stored);
      yield;
    }
  }

  #loadAll(): void {
    for (const _ of this.loadRest());
  }

  #decode(group: number, { segments }: StoredGroup): void {
    const table = this.#table;
    table.setStoredIn(group, 0);
    for (const [index, { name, bytes }] of segments.entries()) {
      readSegment(
        name,
        bytes,
        this.#reader,
        ({ key, value, version }) => {
          // Keys are unique within a segment.
          const known = index === 0 ? undefined : table.slots.get(key);
          const slot = known ?? table.insert(key, value, version, 0, group);
          table.setStored(slot, group, true);
          if (known !== undefined) table.set(slot, value, version);
          if (value === undefined) this.#tombstones.add(slot);
          else if (known !== undefined) this.#tombstones.delete(slot);
        },
        (key) => {
          const slot = table.slots.get(key);
          if (slot === undefined) return;
          this.#removeSlot(slot);
          table.setStored(slot, group, false);
          table.free(slot);
        },
      );
    }
    this.#stored.delete(group);
  }

  /** Marks everything as changed. */
  touchAll(): void {
    this.#loadAll();
    for (const [slot, key] of this.#table.keys.entries()) {
      if (key === undefined) continue;
      this.#table.generations[slot] = this.#generation;
      this.#list(slot);
    }
  }

  /** Number of keys with a value or a tombstone. Keys of groups that are not decoded yet count once per segment. */
  get count(): number {
    let count = this.#table.count;
    for (const { entries } of this.#stored.values()) count += entries;
    return count;
  }

  /** Estimated size of the changes since the last `captureChanges`. */
  get changedBytes(): number {
    return this.#changedBytes;
  }

  /** All entries except tombstones, in no particular order. */
  *entries(): Generator<Entry<V, Ver>> {
    this.#loadAll();
    for (const [slot, key] of this.#table.keys.entries()) {
      const value = this.#table.values[slot];
      if (key === undefined || value === undefined || value === GONE) continue;
      yield { key, value, version: this.#table.versions[slot] as Ver };
    }
  }

  /**
   * Captures the changes since the last call, in O(1). They are encoded in slices: call `advance` until it returns
   * true. Each segment is added to `segments`, which `result` returns, as soon as it is complete.
   */
  captureChanges(segments: Segment[] = []): MemoryCapture<V, Ver, readonly Segment[]> {
    this.#startGeneration();
    const capture = new MemoryCapture<V, Ver, readonly Segment[]>(this.schema, {
      table: this.#table,
      generation: this.#generation,
      since: this.#trackedSince,
      output: () => new SegmentWriter(segments),
      changed: this.#table.takeChanged(),
      memory: this.#captureMemory,
    });
    this.#capture = capture;
    this.#trackedSince = this.#generation;
    this.#changedBytes = 0;
    this.#sampleIn = 1; // so that a single change counts
    return capture;
  }

  /** Called when the changes captured by `captureChanges` are encoded. */
  endCapture(): void {
    this.#capture = undefined;
    for (const slot of this.#gone) if (this.#table.values[slot] === GONE) this.#table.free(slot);
    this.#gone = [];
  }

  change(slot: number, value: V | undefined, version: Ver): void {
    const table = this.#table;
    if (value !== undefined) this.#checkValue(value, undefined, slot);
    if (table.generations[slot] !== this.#generation) this.#enter(slot);
    if (value === undefined) this.#tombstones.add(slot);
    else if (table.values[slot] === undefined) this.#tombstones.delete(slot);
    table.set(slot, value, version);
  }

  remove(slot: number): void {
    const table = this.#table;
    if (table.generations[slot] !== this.#generation) this.#enter(slot);
    this.#removeSlot(slot);
    if (this.#options.isTracked === true) return;
    if (this.#capture === undefined) table.free(slot);
    else this.#gone.push(slot);
  }

  #removeSlot(slot: number): void {
    this.#table.remove(slot);
    this.#tombstones.delete(slot);
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
    this.#loadAll();
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
    assert(this.#options.isTracked !== true, 'tracked cells are loaded by group, never restored');
    const table = new SlotTable<V, Ver>();
    const tombstones = new Set<number>();
    const reading = readSnapshot(bytes, this.schema, 'whole', ({ key, value, version }) => {
      const slot = table.insert(key, value, version, 0);
      if (value === undefined) tombstones.add(slot);
    });
    // With a new generation, the next write to any slot goes through #enter, which checks for the restore.
    this.#startGeneration();
    this.#isRestoring = true;
    try {
      await runInSlices(reading, this.#turns);
    } finally {
      this.#isRestoring = false;
    }
    this.#table = table;
    this.#tombstones = tombstones;
    this.#stored.clear();
    this.#gone = [];
    this.#capture = undefined; // a capture started during the restore keeps the old table
  }

  async #encode(slots?: Iterable<number>): Promise<Uint8Array> {
    if (slots === undefined) this.#loadAll();
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

  /** Finishes the running capture first, because generations cannot represent two captures at once. */
  #startGeneration(): void {
    while (this.#capture?.advance() === false);
    if (this.#capture !== undefined) this.endCapture();
    this.#generation += 2;
  }

  /** Called before the first change of a slot in this generation. */
  #enter(slot: number): void {
    this.#assertWritable();
    this.#capture?.keep(slot);
    this.#table.generations[slot] = this.#generation;
    if (this.#options.isTracked === true) this.#list(slot);
  }

  #list(slot: number): void {
    this.#table.markChanged(slot);
    this.#sampleIn -= 1;
    if (this.#sampleIn > 0) return;
    const bytes = this.#bytesOf(slot);
    this.#sampleIn = Math.max(1, Math.min(SAMPLE_EVERY, Math.floor(SAMPLE_BYTES_MAX / bytes)));
    this.#changedBytes += this.#sampleIn * bytes;
  }

  /** Size of the entry before its change. A value that cannot be encoded fails later. */
  #bytesOf(slot: number): number {
    const { keys, values, versions } = this.#table;
    const value = values[slot];
    if (value === GONE) return 0;
    try {
      this.#scratch.clear();
      writeEntry(this.#scratch, this.schema, keys[slot] as Key, value, versions[slot] as Ver);
      return this.#scratch.length;
    } catch {
      return 0;
    }
  }

  /** Rejects a bad value while its record is known. The key is only looked up on failure, to avoid a cache miss. */
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
