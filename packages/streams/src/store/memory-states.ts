// The states of a pipeline on the heap. Each epoch stores the entries that changed, packed into one
// segment per key group, and a table that names the live segments.
//
// A group's segments grow with every epoch that touches it. It is rewritten whole once it has
// `segmentsMergeAt` of them or its changes outweigh its base, a few groups an epoch so that no checkpoint
// takes much longer than the others; at `segmentsMax` regardless. Old segments leave in the same batch.
import { assert, crc32, type Storage, type StorageBatch } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import type { MemoryCapture } from '../memory/memory-capture.js';
import { MemoryCells } from '../memory/memory-cells.js';
import type { Entry } from '../snapshot/entry.js';
import { mergedSegment, readSegment, type Segment } from '../snapshot/segment.js';
import { nextTurn, SliceBudget, type Turns } from '../state/cells.js';
import { corrupt } from '../state/state-error.js';
import type { StateSchema } from '../state/state-schema.js';
import { type Head, seal, storeKeys } from './layout.js';
import {
  type AnyCells,
  type DeclaredState,
  type PipelineStates,
  readTable,
  type StateSize,
  schemaOfStored,
  tableHeader,
} from './pipeline-states.js';

/** Epoch, bytes, entries, checksum. */
export type StoredSegment = readonly [number, number, number, number];

/** By group. */
export type StoredGroups = Readonly<Record<string, readonly StoredSegment[]>>;

interface MemoryState {
  readonly cells: MemoryCells<unknown, unknown>;
  /** Live segments of each group, oldest first. */
  groups: Map<number, readonly StoredSegment[]>;
  tableCrc: number | undefined;
  /** Segments that the next batch deletes, because they were read for the last time. */
  obsolete: { readonly group: number; readonly epoch: number }[];
}

interface Captured {
  readonly state: MemoryState;
  readonly capture: MemoryCapture<unknown, unknown, readonly Segment[]>;
  next?: { readonly groups: Map<number, readonly StoredSegment[]>; readonly tableCrc: number };
}

export class MemoryStates implements PipelineStates {
  readonly #storage: Storage;
  readonly #turns: Turns;
  readonly #states = new Map<string, MemoryState>();
  #captured: Captured[] = [];

  constructor(storage: Storage, turns: Turns) {
    this.#storage = storage;
    this.#turns = turns;
  }

  async open(state: DeclaredState, head: Head | undefined): Promise<AnyCells> {
    const { schema, storedAs } = state;
    const snapshotBytesMax = streamsLimits.snapshotBytesMax.value;
    const cells = new MemoryCells(schema, this.#turns, { snapshotBytesMax, isTracked: true });
    const opened: MemoryState = { cells, groups: new Map(), tableCrc: undefined, obsolete: [] };
    this.#states.set(schema.uid, opened);
    const table = head && readTable(this.#storage, storedAs, head);
    if (head !== undefined && table !== undefined) {
      const reader = schemaOfStored(state, table);
      const groups = table['groups'] as StoredGroups;
      await this.#load(opened, storedAs, reader, groups);
      if (reader === schema) opened.tableCrc = head.tables[storedAs];
    }
    return cells;
  }

  async #load(
    state: MemoryState,
    storedAs: string,
    reader: StateSchema<unknown, unknown>,
    groups: StoredGroups,
  ): Promise<void> {
    const { cells } = state;
    const isMigrated = reader !== cells.schema;
    const budget = new SliceBudget();
    for (const [name, segments] of Object.entries(groups)) {
      const group = Number(name);
      for (const [epoch, bytes, entries, crc] of segments) {
        const stored = this.#segment(storedAs, group, epoch, bytes, crc);
        const what = `segment ${storedAs}/${group}/${epoch}`;
        readSegment(
          what,
          stored,
          reader,
          ({ key, value, version }) => cells.load(key, value, version),
          (key) => cells.unload(key),
        );
        if (budget.spend(entries, bytes)) await nextTurn(this.#turns);
        if (isMigrated) state.obsolete.push({ group, epoch });
      }
      if (!isMigrated) state.groups.set(group, segments);
    }
    // Entries of another codec are written again, all of them, in the first epoch.
    if (isMigrated) cells.touchAll();
  }

  #segment(state: string, group: number, epoch: number, bytes: number, crc: number): Uint8Array {
    const stored = this.#storage.get(storeKeys.segment(state, group, epoch));
    if (stored?.length === bytes && crc32(stored) === crc) return stored;
    throw corrupt(`segment ${state}/${group}/${epoch} of the checkpoint store`, {
      offset: 0,
      expected: `${bytes} bytes with checksum ${crc}`,
      found:
        stored === undefined ? 'nothing' : `${stored.length} bytes with checksum ${crc32(stored)}`,
    });
  }

  async forEach(uid: string, visit: (entry: Entry<unknown, unknown>) => void): Promise<void> {
    for (const entry of this.#state(uid).cells.entries()) visit(entry);
  }

  capture(): void {
    assert(this.#captured.length === 0, 'one checkpoint at a time');
    this.#captured = [...this.#states.values()].map((state) => ({
      state,
      capture: state.cells.captureChanges(),
    }));
  }

  async encode(batch: StorageBatch, epoch: number): Promise<Readonly<Record<string, number>>> {
    let mergeBytesLeft = streamsLimits.segmentMergeBytesMax.value;
    const tables: Record<string, number> = {};
    for (const captured of this.#captured) {
      const { state, capture } = captured;
      while (!capture.advance()) await nextTurn(this.#turns);
      state.cells.endCapture();
      const { uid } = state.cells.schema;
      const groups = new Map(state.groups);
      for (const { group, epoch: old } of state.obsolete) {
        batch.delete(storeKeys.segment(uid, group, old));
      }
      for (const segment of capture.result()) {
        mergeBytesLeft -= this.#addSegment(batch, state, groups, segment, epoch, mergeBytesLeft);
        if (segment.bytes.length > 0) await this.#pauseIfLong();
      }
      const isUnchanged = capture.result().length === 0 && state.tableCrc !== undefined;
      const sealed = isUnchanged ? undefined : seal(tableOf(state.cells.schema, groups));
      if (sealed !== undefined) batch.put(storeKeys.table(uid), sealed);
      const tableCrc = sealed === undefined ? (state.tableCrc ?? 0) : crc32(sealed);
      captured.next = { groups, tableCrc };
      tables[uid] = tableCrc;
    }
    return tables;
  }

  /** Adds the changes of a group, or the whole group if it is due. Returns the bytes that were merged. */
  #addSegment(
    batch: StorageBatch,
    { cells }: MemoryState,
    groups: Map<number, readonly StoredSegment[]>,
    segment: Segment,
    epoch: number,
    mergeBytesLeft: number,
  ): number {
    const { uid, versions } = cells.schema;
    const { group } = segment;
    const live = groups.get(group) ?? [];
    const liveBytes = live.reduce((sum, [, bytes]) => sum + bytes, 0);
    if (!isMergeDue(live, segment.bytes.length, mergeBytesLeft)) {
      const stored: StoredSegment = [epoch, segment.bytes.length, segment.entries, segment.crc];
      groups.set(group, [...live, stored]);
      batch.put(storeKeys.segment(uid, group, epoch), segment.bytes);
      return 0;
    }
    const before = live.map(([old, bytes, , crc]) => this.#segment(uid, group, old, bytes, crc));
    const name = `key group ${group} of state "${uid}"`;
    const merged = mergedSegment(name, group, [...before, segment.bytes], versions);
    for (const [old] of live) batch.delete(storeKeys.segment(uid, group, old));
    if (merged === undefined) groups.delete(group);
    else {
      groups.set(group, [[epoch, merged.bytes.length, merged.entries, merged.crc]]);
      batch.put(storeKeys.segment(uid, group, epoch), merged.bytes);
    }
    return liveBytes + segment.bytes.length;
  }

  #segmentsAdded = 0;

  async #pauseIfLong(): Promise<void> {
    this.#segmentsAdded += 1;
    if (this.#segmentsAdded % 16 === 0) await nextTurn(this.#turns);
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

  /** Nothing to look for: segments are verified whenever they are read. */
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

function isMergeDue(
  live: readonly StoredSegment[],
  addedBytes: number,
  mergeBytesLeft: number,
): boolean {
  const { segmentsMergeAt, segmentsMax } = streamsLimits;
  if (live.length + 1 >= segmentsMax.value) return true;
  const [base, ...deltas] = live;
  if (base === undefined || deltas.length === 0) return false;
  const deltaBytes = deltas.reduce((sum, [, bytes]) => sum + bytes, addedBytes);
  const isDue = live.length + 1 >= segmentsMergeAt.value || deltaBytes > base[1];
  return isDue && base[1] + deltaBytes <= mergeBytesLeft;
}

function tableOf(
  schema: StateSchema<unknown, unknown>,
  groups: ReadonlyMap<number, readonly StoredSegment[]>,
): unknown {
  return { ...tableHeader(schema), groups: Object.fromEntries(groups) };
}
