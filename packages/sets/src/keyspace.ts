// The data as commands see it.
//
// Everything that does not return a promise happens immediately, in memory, and belongs to the turn in which it was
// called. `args` with an index names a set or a member without copying its bytes. Work that takes longer than a turn
// runs in slices: a read through a pin, a change in parts behind the write gate.
import type { SynclineError, VersionVector } from '@syncline/kernel';
import type { ByteList } from './byte-list.js';

/** Called with bytes that are only valid during the call. */
export type VisitBytes = (buffer: Uint8Array, start: number, end: number) => void;

export interface Keyspace {
  // Reads. Looking at a name that does not exist leaves nothing behind.

  cardinality(args: ByteList, key: number): number;
  has(args: ByteList, key: number, member: number): boolean;
  /** Prepares for many lookups of these members in a large set, which are then faster. */
  fetch(args: ByteList, key: number, members: ByteList): void;
  /** Called before the bytes of these members change. */
  endFetch(): void;
  setsCount(): number;
  /** The approximate number of bytes that the members of a set take in memory: at least their own bytes. */
  memberBytes(args: ByteList, key: number): number;
  /** All members, in no order, within the turn. `has` may be called meanwhile. */
  forEach(args: ByteList, key: number, visit: VisitBytes): void;
  /** `count` different members, drawn uniformly; all of them in random order if there are fewer. */
  sample(args: ByteList, key: number, count: number, visit: VisitBytes): void;
  /** `count` draws from a set that is not empty; members may repeat. */
  draw(args: ByteList, key: number, count: number, visit: VisitBytes): void;
  /**
   * At least `count` members from a position on, if there are that many, by position and then by bytes; equal
   * positions are never split. Returns the position to continue from, 0 at the end.
   */
  scan(args: ByteList, key: number, from: ScanFrom, visit: VisitBytes): number;
  /** The same for the names of all sets that are not empty. */
  scanNames(from: ScanFrom, visit: VisitBytes): number;
  /** The name of one set, drawn uniformly; false when there is none. */
  randomName(visit: VisitBytes): boolean;

  // Changes. Each call is one operation of its own, unless it stands between `begin` and `end`. One that
  // would make an operation larger than it may be throws `limit-exceeded`, and has changed nothing.

  /** Adds the members from index `from` up to `to`; returns how many were absent. Each gets a new dot. */
  add(args: ByteList, key: number, from: number, to?: number): number;
  /** Removes the members from index `from` up to `to`; returns how many were present. */
  remove(args: ByteList, key: number, from: number, to?: number): number;
  /** Removes all members of a set that fits in a turn; returns how many there were. */
  clear(args: ByteList, key: number): number;
  /** Removes `count` members, drawn uniformly, and then shows each. */
  pop(args: ByteList, key: number, count: number, visit: VisitBytes): number;
  /** Until the matching `end` all changes are one operation. Pairs may be nested. */
  begin(): void;
  end(): void;
  /** Instead of `end`, after a failure: all changes are undone once the outermost pair is abandoned as well. */
  abandon(): void;

  /**
   * Undefined: write now. Otherwise write in the turn in which the promise resolves; it rejects when nothing can be
   * changed. Keeps the order.
   */
  admitWrite(): Promise<void> | undefined;
  /** Undefined if memory is consistent. Otherwise a repair is being applied: wait before reading. */
  whenWhole(): Promise<void> | undefined;
  /** Keeps other writes out, in slices: see `WriteHold`. Rejects with `aborted` when the signal fires first. */
  closeGate(signal: AbortSignal): Promise<WriteHold>;
  /** Some sets as they are at this moment. Close it. */
  openPin(sets: readonly Uint8Array[]): Pin;
  /**
   * Ends the turn early: what is read afterwards is in the log. Returns why the changes of the turn were undone, if
   * they were. A command that continues after a wait calls it before it reads and after it has written, since its
   * reply is sent later.
   */
  commit(): SynclineError | undefined;
  /** For long loops: undefined while the slice has time left, otherwise wait and continue in a later turn. */
  yieldIfOverBudget(): Promise<void> | undefined;

  /** What is applied here. A copy. */
  version(): VersionVector;
  digest(): Digest;
  /** The last counter of the newest operation that was made here, in this epoch; 0 before the first. */
  lastCounter(): number;
  /** Resolves when everything that `version` covers is applied here. Rejects with `aborted`. */
  whenApplied(version: VersionVector, signal: AbortSignal): Promise<void>;

  /** From now on a change of the visible members of this set touches the watcher. */
  watch(args: ByteList, key: number, watcher: Watcher): void;
  isWatched(args: ByteList, key: number, watcher: Watcher): boolean;
  unwatch(watcher: Watcher): void;
}

export interface ScanFrom {
  /** 48 bits; 0 is the start. */
  readonly position: number;
  readonly count: number;
}

/** Held by a command that changes more than fits in one operation. Changes go through the keyspace as usual. */
export interface WriteHold {
  /** Called between two parts: `commit`, then `pause`. Rejects if the changes could not be stored. */
  nextPart(): Promise<void> | undefined;
  /** Stores what was changed; returns why it could not be stored and was undone. */
  commit(): SynclineError | undefined;
  /** Lets others run once the slice is used up; writers that have waited long are let through in between. */
  pause(): Promise<void> | undefined;
  release(): void;
}

/**
 * The state of some sets at one moment, without a copy. It costs memory for what is dropped in the meantime; when all
 * pins together hold too much, the oldest is broken, and its reads throw `overloaded`.
 */
export interface Pin extends Disposable {
  cardinality(set: Uint8Array): number;
  has(set: Uint8Array, member: Uint8Array): boolean;
  /**
   * Each member once, in no order, a few at a time; the bytes belong to the caller. Yields to the event loop by
   * itself.
   */
  members(set: Uint8Array): AsyncIterable<readonly Uint8Array[]>;
  /** One member of a set that was not empty, drawn uniformly. */
  randomMember(set: Uint8Array): Uint8Array;
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
