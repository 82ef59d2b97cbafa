// All sets at one moment, read from the storage alone.
//
// Everything up to the moment was folded before, so nothing has to be laid over what the storage says.
// Reads here never touch memory and never wait for writers. Each range read hands out many entries at a
// time; who walks a large set asks `breathe` between them.
import { type Random, type RangeOptions, type Storage, SynclineError } from '@syncline/kernel';
import type { KeyspaceView } from '../keyspace.js';
import { type OrderHash, type PositionWords, positionOf } from '../memory/order-hash.js';
import { elementKey, elementMemberStart, SET_NAME_START, setKey } from '../state/storage-keys.js';
import { decodeCardinality } from '../state/storage-values.js';
import { LastingSnapshot } from './lasting-snapshot.js';
import { drawKey } from './random-entry.js';
import { elementsBetween, setsBetween, splitPosition } from './stored-ranges.js';

export interface SnapshotViewDeps {
  readonly storage: Storage;
  readonly random: Random;
  readonly hash: OrderHash;
}

export class SnapshotView implements KeyspaceView {
  readonly #snapshot: LastingSnapshot;
  readonly #random: Random;
  readonly #hash: OrderHash;
  readonly #words: PositionWords = new Uint32Array(2);
  #isClosed = false;

  constructor(deps: SnapshotViewDeps) {
    this.#snapshot = new LastingSnapshot(deps.storage);
    this.#random = deps.random;
    this.#hash = deps.hash;
  }

  cardinality(set: Uint8Array): number {
    return decodeCardinality(this.#snapshot.get(setKey(set, splitPosition(this.positionOf(set)))));
  }

  has(set: Uint8Array, member: Uint8Array): boolean {
    const position = splitPosition(this.positionOf(member));
    const slice = { buffer: member, start: 0, end: member.length };
    return this.#snapshot.get(elementKey(set, position, slice)) !== undefined;
  }

  members(set: Uint8Array, position = 0, to?: number): AsyncIterable<readonly Uint8Array[]> {
    return this.#tails(elementsBetween(set, position, to), elementMemberStart(set));
  }

  sets(position = 0, to?: number): AsyncIterable<readonly Uint8Array[]> {
    return this.#tails(setsBetween(position, to), SET_NAME_START);
  }

  async randomMember(set: Uint8Array): Promise<Uint8Array> {
    const count = this.cardinality(set);
    if (count === 0)
      throw new SynclineError('not-found', 'the set is empty, it has no member to draw');
    const keys = (from: number, to: number) => this.members(set, from, to);
    return drawKey({ count, keys }, this.#random);
  }

  async randomSet(): Promise<Uint8Array | undefined> {
    const count = this.#snapshot.fold.setsCount;
    if (count === 0) return undefined;
    const keys = (from: number, to: number) => this.sets(from, to);
    return drawKey({ count, keys }, this.#random);
  }

  positionOf(bytes: Uint8Array): number {
    return positionOf(this.positionWordsOf(bytes));
  }

  /** Valid until the next call. */
  positionWordsOf(bytes: Uint8Array): PositionWords {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#hash.write(view, 0, bytes.length, this.#words);
    return this.#words;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#snapshot.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** What stands in each key of a range behind its fixed part. */
  async *#tails(range: RangeOptions, start: number): AsyncGenerator<readonly Uint8Array[]> {
    for await (const batch of this.#snapshot.batches(range)) {
      yield batch.map(({ key }) => key.subarray(start));
    }
  }
}
