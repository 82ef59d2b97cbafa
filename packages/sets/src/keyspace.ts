// What commands see of the data.
//
// Everything that is not a promise happens at once and belongs to the turn in which it was called. `args`
// with an index names a set or a member without copying its bytes. A set is **at hand** when all of it is
// in memory and it has at most so many members that it can be walked within a turn; other sets are
// brought in first, or read through a view.
import type { VersionVector } from '@syncline/kernel';
import type { ByteList } from './byte-list.js';

/** Called with bytes that are only valid during the call. */
export type VisitBytes = (buffer: Uint8Array, start: number, end: number) => void;

export interface Keyspace {
  // Points: at most one read of the storage per member and one per set.

  cardinality(args: ByteList, key: number): number;
  has(args: ByteList, key: number, member: number): boolean;
  /** Sets that are not empty. */
  setsCount(): number;

  // Changes. Each call is one operation of its own, unless it stands between `begin` and `end`.

  /** Adds the members from index `from` up to `to`; gives how many were absent. Each gets a new dot. */
  add(args: ByteList, key: number, from: number, to?: number): number;
  /** Removes the members from index `from` up to `to`; gives how many were present. */
  remove(args: ByteList, key: number, from: number, to?: number): number;
  /** Removes all members of a set that is at hand. */
  clear(args: ByteList, key: number): number;
  /** Removes `count` members of a set that is wholly in memory, drawn uniformly, and shows each. */
  pop(args: ByteList, key: number, count: number, visit: VisitBytes): number;
  /** Until the matching `end` all changes are one operation; pairs may be nested. */
  begin(): void;
  /**
   * Gives the changes of the operation: 0 when nothing changed and no counter was taken. A change that
   * would make an operation between `begin` and `end` larger than it may be throws `limit-exceeded`.
   */
  end(): number;
  /** Instead of `end`: takes back all changes since the outermost `begin`, once that one is abandoned too. */
  abandon(): void;

  // Sets in memory.

  /** All of it is in memory. */
  isWhole(args: ByteList, key: number): boolean;
  /** Whole, with at most `membersMax` members and `turnBytesMax` bytes of them. */
  isAtHand(args: ByteList, key: number, membersMax: number): boolean;
  /** Memory that the members of a whole set take, with those that have just left it: at least their bytes. */
  memberBytes(args: ByteList, key: number): number;
  /** Brings sets into memory, those that fit. Resolves when nothing more can be brought in. */
  bringIn(keys: readonly Uint8Array[]): Promise<void>;
  /** Members of a set that is at hand, by position. `has` may be asked meanwhile. */
  forEach(args: ByteList, key: number, visit: VisitBytes): void;
  /** `count` different members of a whole set, drawn uniformly; all of them in random order if there are fewer. */
  sample(args: ByteList, key: number, count: number, visit: VisitBytes): void;
  /** `count` draws from a whole set that is not empty; members may repeat. */
  draw(args: ByteList, key: number, count: number, visit: VisitBytes): void;
  /**
   * At least `count` members of a whole set from a position on, if there are as many; equal positions
   * are never parted. Gives the position to go on from, 0 at the end.
   */
  scan(args: ByteList, key: number, from: ScanPage, visit: VisitBytes): number;

  // Beyond a turn.

  /**
   * Undefined: go on. Else wait before a command runs: writes wait while another has closed the gate or
   * too much is not yet folded. Who waits keeps the order.
   */
  admit(kind: 'read' | 'write'): Promise<void> | undefined;
  /** Keeps other writes out until `release`. Waits for its turn, and for room. */
  closeGate(signal: AbortSignal): Promise<GateHold>;
  /** Names of sets from a position on, at one moment: about `count` of them or fewer. Close it. */
  openNames(from: ScanPage): Promise<KeyspacePage>;
  /** The same of the members of a set that need not be in memory. */
  openMembers(args: ByteList, key: number, from: ScanPage): Promise<KeyspacePage>;
  /** All sets at one moment, not before this call. For what cannot be done within a turn. Close it. */
  openView(signal: AbortSignal): Promise<KeyspaceView>;
  /** For loops over much: undefined while the turn has time left, else wait and go on in a later one. */
  breathe(): Promise<void> | undefined;

  // Commits and versions.

  /**
   * The commit that must be stored before a reply may leave, over all reads and changes since the last
   * call; 0 when there is none. The session asks after each command.
   */
  takeCommitSeen(): number;
  /** What is applied here, committed or not. A copy. It counts as a read of all of it. */
  version(): VersionVector;
  digest(): Digest;
  /** The last counter of the newest operation that was made here, in this epoch; 0 before the first. */
  lastCounter(): number;
  /** Resolves when the version has moved on. Rejects with `aborted`. */
  nextVersion(signal: AbortSignal): Promise<void>;

  // Watching.

  /** From now on a change of the visible members of this set touches the watcher. */
  watch(args: ByteList, key: number, watcher: Watcher): void;
  isWatched(args: ByteList, key: number, watcher: Watcher): boolean;
  unwatch(watcher: Watcher): void;
}

export interface ScanPage {
  /** 48 bits; 0 is the start. */
  readonly position: number;
  readonly count: number;
}

/** A part of a scan. It shows changes that are not stored yet: who answers with it waits for them. */
export interface KeyspacePage extends Disposable {
  /** By position and then by bytes. */
  readonly batches: AsyncIterable<readonly Uint8Array[]>;
  /** The position to go on from behind all batches, 0 at the end. */
  readonly next: number;
  positionOf(bytes: Uint8Array): number;
  close(): void;
}

/** While it is held, changes go on through the keyspace as usual. */
export interface GateHold {
  /** Undefined while there is room for more changes; else wait for the fold. */
  room(): Promise<void> | undefined;
  /** Resolves when all changes up to now are stored; rejects when a commit has failed since the gate closed. */
  settled(): Promise<void>;
  release(): void;
}

export interface KeyspaceView extends Disposable {
  cardinality(set: Uint8Array): number;
  has(set: Uint8Array, member: Uint8Array): boolean;
  /** Members from a position on, by position and then by bytes, many at a time. */
  members(set: Uint8Array, position?: number): AsyncIterable<readonly Uint8Array[]>;
  /** Names of all sets from a position on, in the same order. */
  sets(position?: number): AsyncIterable<readonly Uint8Array[]>;
  /** Uniform over the members of a set that is not empty. */
  randomMember(set: Uint8Array): Promise<Uint8Array>;
  /** Uniform over all sets; undefined when there is none. */
  randomSet(): Promise<Uint8Array | undefined>;
  /** The position of a member or of a set's name in every scan. */
  positionOf(bytes: Uint8Array): number;
  close(): void;
}

/** Equal digests mean equal nodes. */
export interface Digest {
  readonly version: VersionVector;
  readonly liveDots: number;
  readonly xor: readonly [number, number];
}

export interface Watcher {
  isTouched: boolean;
}
