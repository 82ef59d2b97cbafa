// What has arrived for the one reader of a connection, who pulls chunks or has them handed over.
//
// Pulling is the plain way. Being handed them saves two promises and an iterator for each chunk, which
// is most of the cost of a small request; so chunks are queued only while that reader asks to wait.
import { assert } from '../assert.js';
import { BoundedQueue } from '../bounded-queue.js';
import type { SynclineError } from '../error.js';
import type { ChunkReader } from './network.js';

export interface ArrivalsDeps {
  /** Called for each chunk that the reader has got: there is room for as many bytes. */
  taken(chunk: Uint8Array): void;
}

export class Arrivals {
  readonly #deps: ArrivalsDeps;
  /** Bounded by its producer, since what has arrived can no longer be refused. */
  readonly #queue = new BoundedQueue<Uint8Array>({
    itemsMax: Number.POSITIVE_INFINITY,
    bytesOf: (chunk) => chunk.length,
  });
  #hasReader = false;
  #reader: ChunkReader | undefined;
  #isWaiting = false;
  #isOver = false;

  constructor(deps: ArrivalsDeps) {
    this.#deps = deps;
  }

  /** Chunks that nobody has got yet. */
  get length(): number {
    return this.#queue.length;
  }

  get bytes(): number {
    return this.#queue.bytes;
  }

  /** `isBorrowed`: the bytes change after the call, so that a copy is made unless the reader needs none. */
  offer(chunk: Uint8Array, isBorrowed = false): void {
    const reader = this.#isWaiting ? undefined : this.#reader;
    const kept = isBorrowed && reader?.isBorrowing !== true ? new Uint8Array(chunk) : chunk;
    if (reader === undefined) this.#queue.offer(kept);
    else this.#hand(reader, kept);
  }

  /** Nothing more comes. What is held is still for the reader. */
  close(): void {
    this.#queue.close();
    this.#isOver = true;
    this.#handOver();
  }

  /** The connection is gone. A pulling reader gets what is buffered, then this error; a callback gets it at once. */
  fail(error: SynclineError): void {
    this.#queue.fail(error);
    this.#isOver = true;
    if (this.#reader !== undefined) this.drop();
    this.#isWaiting = false;
    this.#handOver();
  }

  /** Nobody gets what is held. */
  drop(): void {
    while (this.#queue.takeNow());
  }

  pull(): AsyncIterator<Uint8Array> {
    this.#claim();
    return this.#chunks();
  }

  handTo(reader: ChunkReader): void {
    this.#claim();
    this.#reader = reader;
    this.#handOver();
  }

  #claim(): void {
    assert(!this.#hasReader, 'a connection has one reader');
    this.#hasReader = true;
  }

  async *#chunks(): AsyncGenerator<Uint8Array> {
    for (let next = await this.#queue.take(); next; next = await this.#queue.take()) {
      this.#deps.taken(next.item);
      yield next.item;
    }
  }

  readonly #goOn = (): void => {
    this.#isWaiting = false;
    this.#handOver();
  };

  /** The end is handed over at once behind the last chunk, also to a reader who still works on that. */
  #handOver(): void {
    while (this.#reader !== undefined) {
      const next = this.#isWaiting ? undefined : this.#queue.takeNow();
      if (next !== undefined) this.#hand(this.#reader, next.item);
      else if (this.#isOver && this.#queue.length === 0) this.#end(this.#reader);
      else return;
    }
  }

  #hand(reader: ChunkReader, chunk: Uint8Array): void {
    this.#deps.taken(chunk);
    const room = reader.take(chunk);
    if (room === undefined) return;
    this.#isWaiting = true;
    void room.then(this.#goOn);
  }

  #end(reader: ChunkReader): void {
    this.#reader = undefined;
    reader.end();
  }
}
