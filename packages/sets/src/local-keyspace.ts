// The sets of this node as commands see them: memory in front, commits and folds behind.
//
// The methods that commands call thousands of times per turn (`has`, `cardinality`, `add`, `remove`) make
// no object. Each notes the newest commit that it saw, so that no reply leaves before what it tells is
// stored (S5): every set carries the number of the commit that changed it last.
import { type Random, SynclineError, type VersionVector } from '@syncline/kernel';
import type { ByteList } from './byte-list.js';
import type { SetLoader } from './cache/set-loader.js';
import type { Commits } from './commit/commits.js';
import type { WriteGate } from './commit/write-gate.js';
import type {
  Digest,
  GateHold,
  Keyspace,
  KeyspacePage,
  KeyspaceView,
  ScanPage,
  VisitBytes,
  Watcher,
} from './keyspace.js';
import { setsLimits } from './limits.js';
import { drawRows, isPresent, presentRows, sampleRows } from './member-picks.js';
import { memberBuffer, memberEnd, memberStart, ROW_HEADER_WORDS } from './memory/row-layout.js';
import type { MemorySet } from './state/memory-set.js';
import type { SetsState } from './state/sets-state.js';
import type { TurnShare } from './turn-share.js';
import type { LivePages } from './view/live-pages.js';
import type { Watches } from './watches.js';

export interface LocalKeyspaceDeps {
  readonly state: SetsState;
  readonly commits: Commits;
  readonly gate: WriteGate;
  readonly loader: SetLoader;
  readonly turns: TurnShare;
  readonly pages: LivePages;
  readonly watches: Watches;
  readonly random: Random;
  /** Called once per command: memory may have been taken. */
  onAdmit(): void;
  /** A promise while the storage cannot be read, which lasts milliseconds. */
  whenReadable(): Promise<void> | undefined;
  openView(signal: AbortSignal): Promise<KeyspaceView>;
  nextVersion(signal: AbortSignal): Promise<void>;
}

export class LocalKeyspace implements Keyspace {
  readonly #deps: LocalKeyspaceDeps;
  readonly #state: SetsState;
  readonly #commits: Commits;
  #commitSeen = 0;
  /** Pairs of `begin` and `end` that are open. */
  #depth = 0;
  #operationsCount = 0;
  #refusal: SynclineError | undefined;

  constructor(deps: LocalKeyspaceDeps) {
    this.#deps = deps;
    this.#state = deps.state;
    this.#commits = deps.commits;
  }

  /** Operations that were made here since the start. */
  get operationsCount(): number {
    return this.#operationsCount;
  }

  /** From now on every change is refused with this error. */
  refuseWrites(error: SynclineError): void {
    this.#refusal ??= error;
  }

  cardinality(args: ByteList, key: number): number {
    return this.#read(args, key).cardinality;
  }

  has(args: ByteList, key: number, member: number): boolean {
    return this.#state.has(this.#read(args, key), args, member);
  }

  setsCount(): number {
    this.#see(this.#commits.newest);
    return this.#state.setsCount;
  }

  add(args: ByteList, key: number, from: number, to = args.length): number {
    this.begin();
    let added = 0;
    try {
      const set = this.#read(args, key);
      for (let index = from; index < to; index += 1) {
        this.#checkRoom(set, args.sizeOf(index));
        if (this.#state.add(set, args, index)) added += 1;
      }
    } catch (thrown) {
      this.#giveUp();
      throw thrown;
    }
    this.end();
    return added;
  }

  remove(args: ByteList, key: number, from: number, to = args.length): number {
    this.begin();
    let removed = 0;
    try {
      const set = this.#read(args, key);
      for (let index = from; index < to; index += 1) {
        this.#checkRoom(set, args.sizeOf(index));
        if (this.#state.remove(set, args, index)) removed += 1;
      }
    } catch (thrown) {
      this.#giveUp();
      throw thrown;
    }
    this.end();
    return removed;
  }

  clear(args: ByteList, key: number): number {
    const set = this.#read(args, key);
    return this.#removeRows(set, presentRows(set), undefined);
  }

  pop(args: ByteList, key: number, count: number, visit: VisitBytes): number {
    const set = this.#read(args, key);
    return this.#removeRows(set, sampleRows(set, count, this.#deps.random), visit);
  }

  begin(): void {
    if (this.#refusal !== undefined) throw this.#refusal;
    this.#depth += 1;
    this.#state.begin();
  }

  end(): number {
    this.#depth -= 1;
    const changes = this.#state.end();
    if (changes === 0) return 0;
    this.#operationsCount += 1;
    this.#see(this.#state.gatheringNumber);
    this.#commits.changed(changes);
    return changes;
  }

  abandon(): void {
    if (this.#depth > 1) {
      this.end();
      return;
    }
    this.#depth = 0;
    this.#state.abandon();
  }

  isWhole(args: ByteList, key: number): boolean {
    // While the storage cannot be read nothing is known; bringing in waits for it.
    return this.#deps.whenReadable() === undefined && this.#state.setOf(args, key).isWhole;
  }

  isAtHand(args: ByteList, key: number, membersMax: number): boolean {
    if (!this.isWhole(args, key)) return false;
    const { cardinality } = this.#state.setOf(args, key);
    const bytesMax = setsLimits.turnBytesMax.value;
    return cardinality <= membersMax && this.memberBytes(args, key) <= bytesMax;
  }

  memberBytes(args: ByteList, key: number): number {
    const { table } = this.#state.setOf(args, key);
    return table.bytes - table.size * ROW_HEADER_WORDS * 4;
  }

  bringIn(keys: readonly Uint8Array[]): Promise<void> {
    return this.#deps.loader.bringIn(keys);
  }

  forEach(args: ByteList, key: number, visit: VisitBytes): void {
    const set = this.#read(args, key);
    set.table.scan(0, Number.POSITIVE_INFINITY, (row) => {
      if (isPresent(set.table, row)) show(set, row, visit);
    });
  }

  sample(args: ByteList, key: number, count: number, visit: VisitBytes): void {
    const set = this.#read(args, key);
    for (const row of sampleRows(set, count, this.#deps.random)) show(set, row, visit);
  }

  draw(args: ByteList, key: number, count: number, visit: VisitBytes): void {
    const set = this.#read(args, key);
    for (const row of drawRows(set, count, this.#deps.random)) show(set, row, visit);
  }

  scan(args: ByteList, key: number, from: ScanPage, visit: VisitBytes): number {
    const set = this.#read(args, key);
    let { position } = from;
    let missing = from.count;
    do {
      position = set.table.scan(position, missing, (row) => {
        if (!isPresent(set.table, row)) return;
        missing -= 1;
        show(set, row, visit);
      });
    } while (position !== 0 && missing > 0);
    return position;
  }

  admit(kind: 'read' | 'write'): Promise<void> | undefined {
    const { onAdmit, whenReadable, gate } = this.#deps;
    onAdmit();
    const readable = whenReadable();
    if (kind === 'read') return readable;
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal);
    if (readable !== undefined) return this.#admitAfter(readable.then(() => gate.admit()));
    const admitted = gate.admit();
    return admitted && this.#admitAfter(admitted);
  }

  closeGate(signal: AbortSignal): Promise<GateHold> {
    return this.#deps.gate.close(signal);
  }

  async openNames(from: ScanPage): Promise<KeyspacePage> {
    await this.#deps.whenReadable();
    return this.#deps.pages.names(from);
  }

  async openMembers(args: ByteList, key: number, from: ScanPage): Promise<KeyspacePage> {
    await this.#deps.whenReadable();
    return this.#deps.pages.members(this.#read(args, key), from);
  }

  openView(signal: AbortSignal): Promise<KeyspaceView> {
    return this.#deps.openView(signal);
  }

  breathe(): Promise<void> | undefined {
    return this.#deps.whenReadable() ?? this.#deps.turns.breathe();
  }

  takeCommitSeen(): number {
    const seen = this.#commitSeen;
    this.#commitSeen = 0;
    // A number above the newest is left over from a commit that was undone.
    return seen > this.#commits.settled ? Math.min(seen, this.#commits.newest) : 0;
  }

  version(): VersionVector {
    this.#see(this.#commits.newest);
    return this.#state.version();
  }

  digest(): Digest {
    this.#see(this.#commits.newest);
    return this.#state.digest();
  }

  lastCounter(): number {
    return this.#state.lastCounter;
  }

  nextVersion(signal: AbortSignal): Promise<void> {
    return this.#deps.nextVersion(signal);
  }

  watch(args: ByteList, key: number, watcher: Watcher): void {
    this.#deps.watches.add(watcher, this.#read(args, key));
  }

  isWatched(args: ByteList, key: number, watcher: Watcher): boolean {
    return this.#state.setOf(args, key).watchers?.has(watcher) ?? false;
  }

  unwatch(watcher: Watcher): void {
    this.#deps.watches.remove(watcher);
  }

  /** Being admitted counts only in a turn in which the storage can be read. */
  async #admitAfter(admitted: Promise<void>): Promise<void> {
    const { whenReadable, gate } = this.#deps;
    for (let turn: Promise<void> | undefined = admitted; ; turn = gate.admit()) {
      await turn;
      const readable = whenReadable();
      if (readable === undefined) return;
      await readable;
    }
  }

  #read(args: ByteList, key: number): MemorySet {
    const set = this.#state.setOf(args, key);
    if (set.commit > this.#commitSeen) this.#commitSeen = set.commit;
    return set;
  }

  #see(commit: number): void {
    if (commit > this.#commitSeen) this.#commitSeen = commit;
  }

  #removeRows(set: MemorySet, rows: readonly number[], visit: VisitBytes | undefined): number {
    this.begin();
    try {
      for (const row of rows) {
        this.#checkRoom(set, memberEnd(set.table.heap, row) - memberStart(row));
        this.#state.removeRow(set, row);
      }
      // Only now: what is shown cannot be taken back. Rows stay at least until the operation ends.
      if (visit !== undefined) for (const row of rows) show(set, row, visit);
    } catch (thrown) {
      this.#giveUp();
      throw thrown;
    }
    this.end();
    return rows.length;
  }

  /** Within an operation of the caller the caller takes it back. */
  #giveUp(): void {
    if (this.#depth === 1) this.abandon();
    else this.end();
  }

  #checkRoom(set: MemorySet, memberBytes: number): void {
    if (this.#state.hasRoom(set, memberBytes)) return;
    const { operationElementsMax, operationBytesMax } = setsLimits;
    throw new SynclineError(
      'limit-exceeded',
      `a change of more than ${operationElementsMax.value} elements or ${operationBytesMax.value} bytes ` +
        'is too large for one operation',
      { details: { limit: 'operationElementsMax' } },
    );
  }
}

function show({ table }: MemorySet, row: number, visit: VisitBytes): void {
  visit(memberBuffer(table.heap, row), memberStart(row), memberEnd(table.heap, row));
}
