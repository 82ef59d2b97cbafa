// What a subscriber has read from the store and not yet delivered: one piece at a time, read in the background
// so that other events can be delivered while a read waits.
import type { FeedChange } from './feed-event.js';
import type { ReadPiece, ReadStart, StoreReader } from './store-reader.js';

export interface StoreStreamDeps<C extends FeedChange> {
  createReader(): StoreReader<C>;
  /** A piece or an error is available, or the end is reached. */
  onProgress(): void;
}

export class StoreStream<C extends FeedChange> {
  readonly #deps: StoreStreamDeps<C>;
  #reader: StoreReader<C> | undefined;
  #pieces: AsyncGenerator<ReadPiece<C>, void> | undefined;
  #isReading = false;
  #piece: ReadPiece<C> | undefined;
  /** How much of the piece was delivered. */
  #takenCount = 0;
  #error: { readonly thrown: unknown } | undefined;

  constructor(deps: StoreStreamDeps<C>) {
    this.#deps = deps;
  }

  get error(): { readonly thrown: unknown } | undefined {
    return this.#error;
  }

  /** The piece that was read, of a page up to `countMax` changes. */
  take(countMax: number): ReadPiece<C> | undefined {
    const piece = this.#piece;
    if (piece?.kind !== 'page') {
      this.#piece = undefined;
      return piece;
    }
    const changes = piece.changes.slice(this.#takenCount, this.#takenCount + countMax);
    this.#takenCount += changes.length;
    if (this.#takenCount >= piece.changes.length) this.#piece = undefined;
    return { ...piece, changes };
  }

  /** Reads the next piece, unless one is being read. `start` says where, if nothing was begun. */
  readOn(start: () => ReadStart): void {
    if (this.#isReading) return;
    if (!this.#pieces) {
      this.#reader = this.#deps.createReader();
      this.#pieces = this.#reader.read(start());
    }
    const pieces = this.#pieces;
    this.#isReading = true;
    pieces.next().then(
      ({ value }) => this.#onPiece(pieces, value ?? undefined),
      (thrown: unknown) => this.#onPiece(pieces, undefined, { thrown }),
    );
  }

  /** Drops what was read, and the result of a read in flight. */
  leave(): void {
    this.#reader?.stop();
    this.#pieces = undefined;
    this.#piece = undefined;
    this.#isReading = false;
  }

  #onPiece(
    pieces: AsyncGenerator<ReadPiece<C>, void>,
    piece: ReadPiece<C> | undefined,
    error?: { readonly thrown: unknown },
  ): void {
    if (pieces !== this.#pieces) return; // left in the meantime
    this.#isReading = false;
    this.#piece = piece;
    this.#takenCount = 0;
    this.#error = error;
    if (!piece) this.#pieces = undefined;
    this.#deps.onProgress();
  }
}
