// How much commands are about to read and remove, compared with what one turn or one transaction may.
//
// A command describes its work once, in `estimate`. That chooses between `run` and `runLong`; and a transaction adds up
// the work of all its commands, each right before it runs, since earlier commands may have changed its sets.
//
// S19  What runs within one turn stays within these limits.
import type { ByteList } from '../byte-list.js';
import type { Keyspace } from '../keyspace.js';
import { setsLimits } from '../limits.js';

/** Bytes of an element in an operation besides its own: dot, tags and lengths. */
export const ELEMENT_EXTRA_BYTES = 16;
/** Leaves room in an operation for elements that had several dots. */
export const OPERATION_BYTES = setsLimits.operationBytesMax.value * 0.75;

export interface LoadLimits {
  /** Members and names. */
  readonly reads: number;
  readonly readBytes: number;
  /** Random picks of one command. */
  readonly picks: number;
  /** Members that are removed. What is added shows in the operation, which has its own limit. */
  readonly removals: number;
  readonly removalBytes: number;
}

export const turnLimits: LoadLimits = {
  reads: setsLimits.turnMembersMax.value,
  readBytes: setsLimits.turnBytesMax.value,
  picks: setsLimits.turnPicksMax.value,
  removals: setsLimits.operationElementsMax.value,
  removalBytes: OPERATION_BYTES,
};

/** Tests lower the number of members, so that few of them take several turns. */
export function turnLimitsOf(membersMax = turnLimits.reads): LoadLimits {
  if (membersMax >= turnLimits.reads) return turnLimits;
  return { ...turnLimits, reads: membersMax, picks: membersMax, removals: membersMax };
}

export const transactionLimits: LoadLimits = {
  reads: setsLimits.transactionMembersMax.value,
  readBytes: setsLimits.transactionReadBytesMax.value,
  picks: setsLimits.transactionMembersMax.value,
  removals: setsLimits.operationElementsMax.value,
  removalBytes: Number.POSITIVE_INFINITY, // the operation itself refuses to grow larger
};

export class Load {
  readonly #keyspace: Keyspace;
  readonly #limits: LoadLimits;
  #reads = 0;
  #readBytes = 0;
  #picks = 0;
  #removals = 0;
  #removalBytes = 0;

  constructor(keyspace: Keyspace, limits: LoadLimits) {
    this.#keyspace = keyspace;
    this.#limits = limits;
  }

  get hasTooManyReads(): boolean {
    const { reads, readBytes, picks } = this.#limits;
    return this.#reads > reads || this.#readBytes > readBytes || this.#picks > picks;
  }

  get hasTooManyRemovals(): boolean {
    const { removals, removalBytes } = this.#limits;
    return this.#removals > removals || this.#removalBytes > removalBytes;
  }

  get isTooMuch(): boolean {
    return this.hasTooManyReads || this.hasTooManyRemovals;
  }

  /** Names or members that are looked up, or anything of similar cost. */
  reads(count: number): void {
    this.#reads += count;
  }

  /** All members of a set, each of which costs `lookups` reads. */
  readsSet(args: ByteList, key: number, lookups = 1): void {
    this.#reads += this.#keyspace.cardinality(args, key) * lookups;
    this.#readBytes += this.#keyspace.memberBytes(args, key);
  }

  /** Some members of a set. Which ones is not known, so they are taken to be of average size. */
  picks(args: ByteList, key: number, count: number): void {
    this.#picks = Math.max(this.#picks, count);
    this.#reads += count;
    this.#readBytes += count * this.#meanBytes(args, key);
  }

  /** Like `picks`, for members that are removed. */
  removes(args: ByteList, key: number, count: number): void {
    this.#removals += count;
    this.#removalBytes += count * (this.#meanBytes(args, key) + ELEMENT_EXTRA_BYTES);
  }

  #meanBytes(args: ByteList, key: number): number {
    const keyspace = this.#keyspace;
    return keyspace.memberBytes(args, key) / Math.max(1, keyspace.cardinality(args, key));
  }
}
