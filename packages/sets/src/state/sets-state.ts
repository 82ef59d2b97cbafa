// All sets of a node as they are now: applied at once, in order, and stored later by others.
//
// Pure: it reads the storage (one `get` per member and one per set, none for whole sets) and never writes
// to it. Whoever commits takes records of the journal from here, writes them, and says how that went;
// whoever folds takes batches. There is no clock and no promise.
import type {
  ActorId,
  Dot,
  HalfSipKey,
  StorageEntry,
  StorageReads,
  VersionVector,
} from '@syncline/kernel';
import type { RibltKey } from '@syncline/riblt';
import type { ByteList } from '../byte-list.js';
import type { Digest } from '../keyspace.js';
import type { FoldBatch } from './fold-batch.js';
import type { FoldRecord } from './fold-record.js';
import type { MemorySet } from './memory-set.js';
import type { SetRegistry } from './set-registry.js';

export interface SetsStateDeps {
  readonly storage: Pick<StorageReads, 'get'>;
}

export interface SetsStateOptions {
  /** Both come from the cluster id: see `deriveSetsKeys`. */
  readonly orderKey: HalfSipKey;
  readonly ribltKey: RibltKey;
  /** What `f` and `v` say; for a new store `newFold()` and an empty vector. */
  readonly fold: FoldRecord;
  readonly version: VersionVector;
}

/** A record of the journal: the operations of one commit. */
export interface JournalRecord {
  readonly number: number;
  readonly bytes: Uint8Array;
}

export declare class SetsState {
  /** Sets in memory, in the order of use. */
  readonly registry: SetRegistry;

  constructor(deps: SetsStateDeps, options: SetsStateOptions);

  /** Who makes dots here. Given once, after replay and before the first change. */
  useActor(actor: ActorId): void;

  // Reads.

  /** Never undefined: a set that nobody has written is empty. At most one read of the storage. */
  setOf(list: ByteList, index: number): MemorySet;
  /** At most one read of the storage; none when the set is whole. */
  has(set: MemorySet, list: ByteList, index: number): boolean;
  /** Sets that are not empty. */
  get setsCount(): number;
  /** What is applied, committed or not. A copy. */
  version(): VersionVector;
  digest(): Digest;
  /** The last dot of the newest operation made here. */
  get lastOperation(): Dot | undefined;

  // Changes: between `begin` and the matching `end`; pairs may be nested and are one operation.

  begin(): void;
  /** True when it was absent. It gets a new dot either way, once per operation. */
  add(set: MemorySet, list: ByteList, index: number): boolean;
  /** True when it was present. */
  remove(set: MemorySet, list: ByteList, index: number): boolean;
  /** Removes the member of a row that is present. */
  removeRow(set: MemorySet, row: number): void;
  /** Whether the operation surely has room for one more element. Ask before `add`, `remove`, `removeRow`. */
  hasRoom(set: MemorySet, memberBytes: number): boolean;
  /** Elements changed; 0 means that no counter was taken. An inner `end` gives 0. */
  end(): number;
  /** Takes back all changes since the outermost `begin`, and ends it. */
  abandon(): void;

  // Commits. Numbers rise by 1; that of a commit that failed is used again.

  /** The number that the record being gathered will have. Sets changed since carry it as `commit`. */
  get gatheringNumber(): number;
  /** Whether the record being gathered holds an operation. */
  get isGathering(): boolean;
  get gatheredBytes(): number;
  /** Closes the record being gathered; undefined when nothing changed since the last one. */
  takeRecord(): JournalRecord | undefined;
  /** The record of this number is stored, and all before it. */
  settled(number: number): void;
  /** Takes back this record and everything after it, what is being gathered included. */
  undoFrom(number: number): void;

  // The head: what is applied and not folded.

  get headEntries(): number;
  /** Journal that is not folded. */
  get headBytes(): number;
  /** The last journal number that is folded. */
  get foldedNumber(): number;
  /**
   * The oldest part of the head as a batch to build, write synced and report by `folded`. Undefined when
   * nothing can be folded now: the head is empty, or its oldest part waits for a commit; then ask again
   * once that commit is settled. Give up a batch by dropping it.
   */
  nextFold(): FoldBatch | undefined;
  folded(batch: FoldBatch): void;

  /** Applies a record of the journal at start. Throws `corrupt`. */
  replay(number: number, bytes: Uint8Array): void;

  // Bringing sets in and letting them go.

  /** Call it together with taking the snapshot. */
  startLoading(set: MemorySet): void;
  /** An element as the snapshot has it. */
  load(set: MemorySet, entry: StorageEntry): void;
  /** All elements of the snapshot were given: the set is whole from now on. */
  finishLoading(set: MemorySet): void;
  /** Lets go of what was loaded, by steps: true when done. */
  abandonLoading(set: MemorySet, rowsMax: number): boolean;
  /**
   * Lets go of the members of a set that is clean, by steps: true when done, and then the set itself is
   * forgotten. From the first step on the set is not whole. A set that is not clean is left as it is.
   */
  unload(set: MemorySet, rowsMax: number): boolean;
}
