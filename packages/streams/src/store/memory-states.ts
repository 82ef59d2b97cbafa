// Keeps the states of a pipeline on the heap. Each epoch stores the changed entries, packed into one segment per key
// group, and a table that lists the live segments.
//
// Every epoch that changes a group adds a segment to it, or replaces its segments if it changes all keys that the
// group has. Otherwise the group is rewritten as a whole once it has `segmentsMergeAt` segments or its changes are
// larger than its base; only a few groups per epoch, so that no checkpoint takes much longer than the others. At
// `segmentsMax` it is always rewritten. Old segments are deleted in the same batch.
import { assert, type Storage, type StorageBatch, type StorageReads } from '@syncline/kernel';
import { crc32 } from '@syncline/kernel/node';
import { streamsLimits } from '../limits.js';
import type { MemoryCapture } from '../memory/memory-capture.js';
import { MemoryCells, type StoredGroup } from '../memory/memory-cells.js';
import type { Entry } from '../snapshot/entry.js';
import { type Segment, SegmentWriter, writeMerged } from '../snapshot/segment.js';
import { nextTurn, runInSlices, SliceBudget, type Turns } from '../state/cells.js';
import { corrupt } from '../state/state-error.js';
import { type StateSchema, type StoredSchema, storedSchema } from '../state/state-schema.js';
import { type Head, seal, storeKeys } from './layout.js';
import {
  type AnyCells,
  type DeclaredState,
  type PipelineStates,
  readTable,
  type StateSize,
  schemaOfStored,
} from './pipeline-states.js';

/** Epoch, bytes, entries, checksum. */
export type StoredSegment = readonly [number, number, number, number];

/** By group. */
export type StoredGroups = Readonly<Record<string, readonly StoredSegment[]>>;

/** The cells of a state, local or on workers, as a checkpoint sees them. */
export interface StateCells
  extends Pick<
    MemoryCells<unknown, unknown>,
    'schema' | 'attach' | 'loadRest' | 'touchAll' | 'entries' | 'endCapture'
  > {
  readonly count: number;
  readonly changedBytes: number;
  captureChanges(
    segments: Segment[],
  ): Pick<MemoryCapture<unknown, unknown, readonly Segment[]>, 'advance' | 'result'>;
}

interface MemoryState {
  readonly cells: StateCells;
  /** Live segments of each group, oldest first. */
  groups: Map<number, readonly StoredSegment[]>;
  tableCrc: number | undefined;
  /** Segments that the next batch deletes, because they are no longer needed. */
  obsolete: { readonly group: number; readonly epoch: number }[];
}

interface Captured {
  readonly state: MemoryState;
  readonly capture: ReturnType<StateCells['captureChanges']>;
  /** Complete segments that are not stored yet. */
  readonly segments: Segment[];
  next?: { readonly groups: Map<number, readonly StoredSegment[]>; readonly tableCrc: number };
}

export class MemoryStates implements PipelineStates {
  readonly #storage: Storage;
  readonly #turns: Turns;
  readonly #cells: ReadonlyMap<string, StateCells> | undefined;
  readonly #states = new Map<string, MemoryState>();
  #captured: Captured[] = [];

  /** `cells` are those of workers, by state. If omitted, the states are local. */
  constructor(storage: Storage, turns: Turns, cells?: ReadonlyMap<string, StateCells>) {
    this.#storage = storage;
    this.#turns = turns;
    this.#cells = cells;
  }

  async open(state: DeclaredState, head: Head | undefined): Promise<AnyCells> {
    const { schema, storedAs } = state;
    const snapshotBytesMax = streamsLimits.snapshotBytesMax.value;
    const cells =
      this.#cells?.get(schema.uid) ??
      new MemoryCells(schema, this.#turns, { snapshotBytesMax, isTracked: true });
    const opened: MemoryState = { cells, groups: new Map(), tableCrc: undefined, obsolete: [] };
    this.#states.set(schema.uid, opened);
    const table = head && readTable(this.#storage, storedAs, head);
    if (head !== undefined && table !== undefined) {
      const reader = schemaOfStored(state, table);
      await this.#load(opened, storedAs, reader, table);
      if (reader === schema) opened.tableCrc = head.tables[storedAs];
    }
    return cells as unknown as AnyCells;
  }

  /** Verifies everything that is stored. Decoding happens later, unless the codec has changed. */
  async #load(
    state: MemoryState,
    storedAs: string,
    reader: StateSchema<unknown, unknown>,
    table: StoredSchema & Record<string, unknown>,
  ): Promise<void> {
    const { cells } = state;
    const isMigrated = reader !== cells.schema;
    const groups = new Map<number, StoredGroup>();
    for (const [name, live] of Object.entries(table['groups'] as StoredGroups)) {
      const group = Number(name);
      const segments = live.map((segment) => ({
        name: `segment ${storedAs}/${group}/${segment[0]}`,
        bytes: readStored(this.#storage, storedAs, group, segment),
      }));
      const entries = live.reduce((sum, [, , count]) => sum + count, 0);
      groups.set(group, { segments, entries });
      if (isMigrated) for (const [epoch] of live) state.obsolete.push({ group, epoch });
      else state.groups.set(group, live);
      await nextTurn(this.#turns);
    }
    cells.attach(groups, reader);
    // Anything that a new codec cannot read throws here, before anything is written.
    const isUpgraded = table.codec.version !== reader.codec.version;
    if (isMigrated || isUpgraded) await runInSlices(cells.loadRest(), this.#turns);
    // Entries of another codec are all rewritten in the first epoch.
    if (isMigrated) cells.touchAll();
  }

  async forEach(uid: string, visit: (entry: Entry<unknown, unknown>) => void): Promise<void> {
    const { cells } = this.#state(uid);
    await runInSlices(cells.loadRest(), this.#turns);
    for (const entry of cells.entries()) visit(entry);
  }

  capture(): void {
    assert(this.#captured.length === 0, 'one checkpoint at a time');
    this.#captured = [...this.#states.values()].map((state) => {
      const segments: Segment[] = [];
      return { state, segments, capture: state.cells.captureChanges(segments) };
    });
  }

  async encode(batch: StorageBatch, epoch: number): Promise<Readonly<Record<string, number>>> {
    let mergeBytesLeft = streamsLimits.segmentMergeBytesMax.value;
    const tables: Record<string, number> = {};
    for (const captured of this.#captured) {
      const { state, capture, segments } = captured;
      const { schema } = state.cells;
      const { uid } = schema;
      const groups = new Map(state.groups);
      const add = (segment: Segment) => addSegment(batch, uid, groups, segment, epoch);
      for (const { group, epoch: old } of state.obsolete) {
        batch.delete(storeKeys.segment(uid, group, old));
      }
      let isUnchanged = state.tableCrc !== undefined;
      const due: Segment[] = [];
      for (let isDone = false; !isDone; ) {
        isDone = capture.advance();
        // The batch copies them: kept until the capture is done, they would cost garbage collections of the whole heap.
        for (const segment of segments.splice(0)) {
          isUnchanged = false;
          if (isMergeDue(groups.get(segment.group), segment)) due.push(segment);
          else add(segment);
        }
        if (!isDone) await nextTurn(this.#turns);
      }
      state.cells.endCapture();
      capture.result(); // throws if a value could not be encoded
      const merging = this.#mergeDue(schema, groups, due, mergeBytesLeft, add);
      mergeBytesLeft = await runInSlices(merging, this.#turns);
      const sealed = isUnchanged ? undefined : seal(tableOf(schema, groups));
      if (sealed !== undefined) batch.put(storeKeys.table(uid), sealed);
      const tableCrc = sealed === undefined ? (state.tableCrc ?? 0) : crc32(sealed);
      captured.next = { groups, tableCrc };
      tables[uid] = tableCrc;
    }
    return tables;
  }

  /** Adds changes of groups that are due for a rewrite, as whole groups while bytes are left. Returns what is left. */
  *#mergeDue(
    { uid, versions }: StateSchema<unknown, unknown>,
    groups: ReadonlyMap<number, readonly StoredSegment[]>,
    due: Segment[],
    bytesMax: number,
    add: (segment: Segment) => void,
  ): Generator<void, number> {
    let bytesLeft = bytesMax;
    const budget = new SliceBudget();
    const merged: Segment[] = [];
    const writer = new SegmentWriter(merged);
    const liveOf = ({ group }: Segment) => groups.get(group) ?? [];
    // The longest chains first: in any fixed order, the last groups would all have to wait for `segmentsMax`.
    due.sort((left, right) => liveOf(right).length - liveOf(left).length);
    for (const segment of due) {
      const { group } = segment;
      const live = liveOf(segment);
      const bytes = live.reduce((sum, [, size]) => sum + size, segment.bytes.length);
      const isLong = live.length + 1 >= streamsLimits.segmentsMax.value;
      if (bytes > bytesLeft && !isLong) {
        add(segment);
        continue;
      }
      bytesLeft -= bytes;
      const parts: Uint8Array[] = [];
      for (const stored of live) {
        parts.push(readStored(this.#storage, uid, group, stored));
        if (budget.spend(1, stored[1])) yield;
      }
      parts.push(segment.bytes);
      const name = `key group ${group} of state "${uid}"`;
      yield* writeMerged(writer, name, group, parts, versions, budget);
      add(merged.pop() ?? { ...segment, holds: 'nothing' });
    }
    return bytesLeft;
  }

  async settle(): Promise<void> {
    for (const { state, next } of this.#captured) {
      assert(next !== undefined, 'a checkpoint is encoded before it is stored');
      state.groups = next.groups;
      state.tableCrc = next.tableCrc;
      state.obsolete = [];
    }
    this.#captured = [];
  }

  /** Does nothing: segments are verified whenever they are read. */
  async scrub(): Promise<void> {}

  get changedBytes(): number {
    let bytes = 0;
    for (const { cells } of this.#states.values()) bytes += cells.changedBytes;
    return bytes;
  }

  sizes(): ReadonlyMap<string, StateSize> {
    const sizes = new Map<string, StateSize>();
    for (const [uid, { cells, groups }] of this.#states) {
      let bytes = cells.changedBytes;
      for (const segments of groups.values()) for (const [, size] of segments) bytes += size;
      sizes.set(uid, { keys: cells.count, bytes });
    }
    return sizes;
  }

  #state(uid: string): MemoryState {
    const state = this.#states.get(uid);
    assert(state !== undefined, `state "${uid}" is open`);
    return state;
  }
}

/** Throws `corrupt` if it is not what the table lists. */
export function readStored(
  reads: StorageReads,
  state: string,
  group: number,
  [epoch, bytes, , crc]: StoredSegment,
): Uint8Array {
  const stored = reads.get(storeKeys.segment(state, group, epoch));
  if (stored?.length === bytes && crc32(stored) === crc) return stored;
  throw corrupt(`segment ${state}/${group}/${epoch} of the checkpoint store`, {
    offset: 0,
    expected: `${bytes} bytes with checksum ${crc}`,
    found:
      stored === undefined ? 'nothing' : `${stored.length} bytes with checksum ${crc32(stored)}`,
  });
}

function isMergeDue(
  live: readonly StoredSegment[] = [],
  { bytes: { length: addedBytes }, holds }: Segment,
): boolean {
  const [base, ...deltas] = live;
  if (holds !== 'changes' || base === undefined || deltas.length === 0) return false;
  if (live.length + 1 >= streamsLimits.segmentsMergeAt.value) return true;
  return deltas.reduce((sum, [, bytes]) => sum + bytes, addedBytes) > base[1];
}

function addSegment(
  batch: StorageBatch,
  uid: string,
  groups: Map<number, readonly StoredSegment[]>,
  { group, bytes, entries, crc, holds }: Segment,
  epoch: number,
): void {
  const live = groups.get(group) ?? [];
  const key = storeKeys.segment(uid, group, epoch);
  const stored: StoredSegment = [epoch, bytes.length, entries, crc];
  if (holds !== 'changes') {
    for (const [old] of live) batch.delete(storeKeys.segment(uid, group, old));
  }
  if (holds !== 'nothing') batch.put(key, bytes);
  if (holds === 'all') groups.set(group, [stored]);
  else if (holds === 'nothing') groups.delete(group);
  else {
    assert(live.length + 1 < streamsLimits.segmentsMax.value, 'a chain of segments is bounded');
    groups.set(group, [...live, stored]);
  }
}

function tableOf(
  schema: StateSchema<unknown, unknown>,
  groups: ReadonlyMap<number, readonly StoredSegment[]>,
): unknown {
  return { ...storedSchema(schema), groups: Object.fromEntries(groups) };
}
