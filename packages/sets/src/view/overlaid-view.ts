// All sets at one moment, part of them not folded: a copy of the head, laid over a snapshot of the storage.
//
// The snapshot is of the moment of the copy or older. Piece by piece of what the copy knows, the stored range
// that belongs to it is read: so a set of any size is walked in order, and draws read narrow ranges only.
import { type Random, SynclineError } from '@syncline/kernel';
import type { KeyspaceView } from '../keyspace.js';
import { ROW_ACTOR, readWord } from '../memory/row-layout.js';
import { NO_DOT } from '../state/row-dots.js';
import type { HeadCopy } from './head-copy.js';
import { type KnownPiece, knownMembers, knownNames } from './known-entries.js';
import { type Batches, laidOver } from './laid-over.js';
import { drawKey } from './random-entry.js';
import type { SnapshotView } from './snapshot-view.js';
import { POSITIONS_END } from './stored-ranges.js';

/** Entries of the copy that are laid over the storage at a time. */
const PIECE = 128;

export interface OverlaidViewDeps {
  readonly copy: HeadCopy;
  readonly stored: SnapshotView;
  readonly random: Random;
}

interface Layers {
  known(from: number): KnownPiece;
  stored(from: number, to: number): Batches;
}

export class OverlaidView implements KeyspaceView {
  readonly #copy: HeadCopy;
  readonly #stored: SnapshotView;
  readonly #random: Random;
  #isClosed = false;

  constructor({ copy, stored, random }: OverlaidViewDeps) {
    this.#copy = copy;
    this.#stored = stored;
    this.#random = random;
    copy.viewsCount += 1;
  }

  cardinality(set: Uint8Array): number {
    return this.#copy.find(set)?.cardinality ?? this.#stored.cardinality(set);
  }

  has(set: Uint8Array, member: Uint8Array): boolean {
    const table = this.#copy.find(set)?.table;
    const view = new DataView(member.buffer, member.byteOffset, member.length);
    const row = table?.findBytes(this.#stored.positionWordsOf(member), view, 0, member.length) ?? 0;
    if (table === undefined || row === 0) return this.#stored.has(set, member);
    return readWord(table.heap, row, ROW_ACTOR) !== NO_DOT;
  }

  members(set: Uint8Array, position = 0, to = POSITIONS_END): Batches {
    const table = this.#copy.find(set)?.table;
    if (table === undefined) return this.#stored.members(set, position, to);
    return this.#merged(position, to, {
      known: (from) => knownMembers(table, from, PIECE),
      stored: (from, end) => this.#stored.members(set, from, end),
    });
  }

  sets(position = 0, to = POSITIONS_END): Batches {
    return this.#merged(position, to, {
      known: (from) => knownNames(this.#copy.registry, from, PIECE),
      stored: (from, end) => this.#stored.sets(from, end),
    });
  }

  async randomMember(set: Uint8Array): Promise<Uint8Array> {
    const count = this.cardinality(set);
    if (count === 0)
      throw new SynclineError('not-found', 'the set is empty, it has no member to draw');
    const keys = (from: number, to: number) => this.members(set, from, to);
    return drawKey({ count, keys }, this.#random);
  }

  async randomSet(): Promise<Uint8Array | undefined> {
    const count = this.#copy.setsCount;
    if (count === 0) return undefined;
    const keys = (from: number, to: number) => this.sets(from, to);
    return drawKey({ count, keys }, this.#random);
  }

  positionOf(bytes: Uint8Array): number {
    return this.#stored.positionOf(bytes);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#copy.viewsCount -= 1;
    this.#stored.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async *#merged(
    position: number,
    to: number,
    layers: Layers,
  ): AsyncGenerator<readonly Uint8Array[]> {
    for (let from = position; from < to; ) {
      const piece = layers.known(from);
      const end = Math.min(piece.end, to);
      const known = piece.entries.filter((entry) => entry.position < end);
      yield* laidOver(layers.stored(from, end), known, (bytes) => this.positionOf(bytes));
      from = end;
    }
  }
}
