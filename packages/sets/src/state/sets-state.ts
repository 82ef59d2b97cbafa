// All sets of a node as they are now: applied at once, in order, and stored later by others.
//
// Pure: it reads the storage (one `get` per member and one per set, none for whole sets) and never writes
// to it. Whoever commits takes records of the journal from here, writes them, and says how that went;
// whoever folds takes batches. There is no clock and no promise. The parts do the work; this is their door.
import {
  type ActorId,
  assert,
  StorageBatch,
  type StorageEntry,
  type StorageReads,
  type VersionVector,
} from '@syncline/kernel';
import type { ByteList } from '../byte-list.js';
import type { Digest } from '../keyspace.js';
import { setsLimits } from '../limits.js';
import { ElementHeap } from '../memory/element-heap.js';
import { OrderHash, type OrderKeys } from '../memory/order-hash.js';
import { decodeOperations } from '../operation/decode-operations.js';
import { OperationWriter } from '../operation/operation-writer.js';
import { AppliedVersion } from './applied-version.js';
import { ElementChanges } from './element-changes.js';
import { ElementRows } from './element-rows.js';
import { FoldBatch } from './fold-batch.js';
import type { FoldRecord } from './fold-record.js';
import { Head } from './head.js';
import { LiveDigest } from './live-digest.js';
import { Loading } from './loading.js';
import type { MemorySet } from './memory-set.js';
import { Replay } from './replay.js';
import { SeveralDots } from './row-dots.js';
import { RunningOperation } from './running-operation.js';
import { SetRegistry } from './set-registry.js';
import { setKey } from './storage-keys.js';
import { decodeCardinality } from './storage-values.js';
import { UnsettledCommits } from './unsettled-commits.js';

const GENERATION_ENTRIES_MAX = setsLimits.foldBatchEntriesMax.value;

export interface SetsStateDeps {
  readonly storage: Pick<StorageReads, 'get'>;
}

export interface SetsStateOptions {
  readonly keys: OrderKeys;
  /** What `f` says: see `readFold`. */
  readonly fold: FoldRecord;
  /** What `v` says: see `foldedVersion`. */
  readonly version: VersionVector;
  /** Elements at which a part of the head is closed at the end of a commit. Default: foldBatchEntriesMax. */
  readonly generationEntriesMax?: number;
}

/** A record of the journal: the operations of one commit. */
export interface JournalRecord {
  readonly number: number;
  readonly bytes: Uint8Array;
}

export class SetsState {
  /** The memory of all sets. */
  readonly heap = new ElementHeap();
  /** Sets in memory, in the order of use. */
  readonly registry: SetRegistry;
  readonly #storage: Pick<StorageReads, 'get'>;
  readonly #hash: OrderHash;
  readonly #position = new Uint32Array(2);
  readonly #several = new SeveralDots();
  readonly #writer = new OperationWriter();
  readonly #version: AppliedVersion;
  readonly #digest: LiveDigest;
  readonly head: Head;
  readonly #changes: ElementChanges;
  readonly #rows: ElementRows;
  readonly #operation: RunningOperation;
  readonly #commits: UnsettledCommits;
  readonly #replay: Replay;
  readonly #loading: Loading;
  /** One for all folds: it grows to the size of one, and makes no garbage. */
  readonly #foldContent = new StorageBatch();
  #fold: FoldRecord;
  #foldedVersion: VersionVector;
  #isCutWanted = false;

  constructor({ storage }: SetsStateDeps, options: SetsStateOptions) {
    const { keys, fold, version, generationEntriesMax = GENERATION_ENTRIES_MAX } = options;
    const { heap } = this;
    const several = this.#several;
    const hash = new OrderHash(keys.order);
    const registry = new SetRegistry({ heap, hash });
    const applied = new AppliedVersion(version);
    const digest = new LiveDigest(keys.riblt, fold);
    const headOptions = { foldedNumber: fold.number, generationEntriesMax };
    const head = new Head({ heap, registry, several }, headOptions);
    const rows = new ElementRows({ storage, heap, hash, several, version: applied });
    const changes = new ElementChanges(
      { heap, registry, several, head, rows, digest },
      { number: fold.number + 1, setsCount: fold.setsCount },
    );
    const parts = { heap, registry, several, version: applied, digest, changes, rows };
    this.registry = registry;
    this.#storage = storage;
    this.#hash = hash;
    this.#version = applied;
    this.#digest = digest;
    this.head = head;
    this.#changes = changes;
    this.#rows = rows;
    this.#operation = new RunningOperation({ ...parts, writer: this.#writer });
    this.#commits = new UnsettledCommits(parts);
    this.#replay = new Replay({ ...parts, setOf: (list, index) => this.setOf(list, index) });
    this.#loading = new Loading(parts);
    this.#fold = fold;
    this.#foldedVersion = version.copy();
  }

  /** Who makes dots here. Given once, after replay and before the first change. */
  useActor(actor: ActorId): void {
    this.#version.useActor(actor);
  }

  // Reads.

  /** Never undefined: a set that nobody has written is empty. At most one read of the storage. */
  setOf(list: ByteList, index: number): MemorySet {
    return this.registry.find(list, index) ?? this.#readSet(list, index);
  }

  /** At most one read of the storage; none when the set is whole. */
  has(set: MemorySet, list: ByteList, index: number): boolean {
    return this.#rows.isPresent(set, list, index);
  }

  /** Sets that are not empty. */
  get setsCount(): number {
    return this.#changes.setsCount;
  }

  get liveDots(): number {
    return this.#digest.liveDots;
  }

  /** What is applied, committed or not. A copy. */
  version(): VersionVector {
    return this.#version.toVector();
  }

  digest(): Digest {
    return { version: this.version(), liveDots: this.#digest.liveDots, xor: this.#digest.xor };
  }

  /** The last counter of our actor; 0 before its first operation. */
  get lastCounter(): number {
    return this.#version.ownCounter;
  }

  // Changes: between `begin` and the matching `end`; pairs may be nested and are one operation.

  begin(): void {
    this.#operation.begin();
  }

  /** True when it was absent. It gets a new dot either way, once per operation. */
  add(set: MemorySet, list: ByteList, index: number): boolean {
    return this.#operation.add(set, this.#rows.findOrInsert(set, list, index));
  }

  /** True when it was present. */
  remove(set: MemorySet, list: ByteList, index: number): boolean {
    const row = this.#rows.findPresent(set, list, index);
    return row !== 0 && this.#operation.remove(set, row);
  }

  /** Removes the member of a row of this set. True when it was present. */
  removeRow(set: MemorySet, row: number): boolean {
    return this.#operation.remove(set, row);
  }

  /** Whether the operation surely has room for one more element. Ask before `add`, `remove`, `removeRow`. */
  hasRoom(set: MemorySet, memberBytes: number): boolean {
    return this.#operation.hasRoom(set, memberBytes);
  }

  /** Elements changed; 0 means that no counter was taken. An inner `end` gives 0. */
  end(): number {
    return this.#operation.end();
  }

  /** Takes back all changes since the outermost `begin`, and ends it. */
  abandon(): void {
    this.#operation.abandon();
  }

  // Commits. Numbers rise by 1; that of a commit that failed is used again.

  /** The number that the record being gathered will have. Sets changed since carry it as `commit`. */
  get gatheringNumber(): number {
    return this.#commits.gatheringNumber;
  }

  /** Whether the record being gathered holds an operation. */
  get isGathering(): boolean {
    return this.#writer.size > 0;
  }

  /** Size of the record being gathered. */
  get gatheredBytes(): number {
    return this.#writer.size;
  }

  /** Closes the record being gathered; undefined when nothing changed since the last one. */
  takeRecord(): JournalRecord | undefined {
    assert(!this.#operation.isRunning, 'a commit ends where an operation ends');
    if (!this.isGathering) return undefined;
    const record = { number: this.gatheringNumber, bytes: this.#writer.take() };
    this.#closeCommit(record.bytes.length);
    return record;
  }

  /** The record of this number is stored, and all before it. */
  settled(number: number): void {
    this.#commits.settled(number);
  }

  /** Takes back this record and everything after it, what is being gathered included. */
  undoFrom(number: number): void {
    assert(!this.#operation.isRunning, 'a commit fails between operations');
    this.#writer.truncate(0);
    this.#commits.undoFrom(number);
    this.head.undoFrom(number, (set, row) => this.#rows.settle(set, row));
  }

  // The head: what is applied and not folded.

  get headEntries(): number {
    return this.head.entries;
  }

  /** Journal that is not folded. */
  get headBytes(): number {
    return this.head.bytes;
  }

  /** The last journal number that is folded. */
  get foldedNumber(): number {
    return this.#fold.number;
  }

  /**
   * The oldest part of the head as a batch to build, write synced and report by `folded`. Undefined when
   * nothing can be folded now: the head is empty, or its oldest part waits for a commit; then ask again
   * once that commit is settled. Give up a batch by dropping it: the next call uses its memory again.
   */
  nextFold(): FoldBatch | undefined {
    if (this.head.oldestClosed === undefined) {
      if (this.isGathering || this.#operation.isRunning) this.#isCutWanted = true;
      else if (this.head.newest.lastNumber > this.foldedNumber) this.#closeGeneration();
    }
    const generation = this.head.oldestClosed;
    if (generation?.end === undefined) return undefined;
    if (generation.lastNumber > this.#commits.settledNumber) return undefined;
    const { heap, registry } = this;
    const batch = this.#foldContent;
    batch.clear();
    const options = { generation, end: generation.end, batch, foldedVersion: this.#foldedVersion };
    return new FoldBatch({ heap, registry, several: this.#several }, options);
  }

  /** The batch is stored. */
  folded({ generation, end }: FoldBatch): void {
    this.#fold = end.fold;
    this.#foldedVersion = end.version;
    this.head.folded(generation, (set, row) => this.#rows.settle(set, row));
    for (const set of new Set(generation.sets)) {
      if (set.cardinality === 0 && set.isClean && set.table.size === 0) this.registry.forget(set);
    }
  }

  /** Applies the next record of the journal, a slice per step; gives its operations. Throws `corrupt`. */
  *replay(number: number, bytes: Uint8Array): Generator<void, number> {
    assert(
      number === this.gatheringNumber && !this.isGathering,
      'the journal is replayed in order',
    );
    let operations = 0;
    for (const operation of decodeOperations(bytes)) {
      yield* this.#replay.apply(operation);
      operations += 1;
    }
    this.#closeCommit(bytes.length);
    this.settled(number);
    return operations;
  }

  // Bringing sets in and letting them go.

  /** Call it together with taking the snapshot. */
  startLoading(set: MemorySet): void {
    this.#loading.start(set);
  }

  /** An element as the snapshot has it. */
  load(set: MemorySet, entry: StorageEntry): void {
    this.#loading.load(set, entry);
  }

  /** All elements of the snapshot were given: the set is whole from now on. */
  finishLoading(set: MemorySet): void {
    this.#loading.finish(set);
  }

  /** Lets go of what was loaded, by steps: true when done. */
  abandonLoading(set: MemorySet, rowsMax: number): boolean {
    return this.#loading.abandon(set, rowsMax);
  }

  /**
   * Lets go of the members of a set, by steps: true when done. From the first step on it is not whole. What
   * is not folded stays; a set of which nothing stays is forgotten.
   */
  unload(set: MemorySet, rowsMax: number): boolean {
    return this.#loading.unload(set, rowsMax);
  }

  #readSet(list: ByteList, index: number): MemorySet {
    this.#hash.write(list.view, list.start(index), list.end(index), this.#position);
    const [high = 0, low = 0] = this.#position;
    const value = this.#storage.get(setKey(list.bytes(index), { high, low }));
    return this.registry.add(list, index, decodeCardinality(value));
  }

  #closeCommit(bytes: number): void {
    this.#commits.close();
    this.head.closeRecord(bytes);
    if (this.#isCutWanted || this.head.isFull) this.#closeGeneration();
  }

  #closeGeneration(): void {
    this.#isCutWanted = false;
    this.head.close({
      fold: {
        number: this.gatheringNumber - 1,
        liveDots: this.#digest.liveDots,
        xor: this.#digest.xor,
        setsCount: this.setsCount,
      },
      version: this.version(),
    });
  }
}
