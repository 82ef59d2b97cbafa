// The recent operations of this node, encoded once, for all peers. A peer is just a position in it.
//
// Operations leave it when every peer has applied them, or, oldest first, when they no longer fit; a peer that
// still needed them has to pull. Chunks are as they were published, but no larger than a frame should be.
//
// M10  The ring holds a contiguous run of counters, up to the last one published, within both limits.
import { assert } from '@syncline/kernel';
import { meshLimits } from './limits.js';
import { countOperations, readOperationHeads } from './operation-head.js';

export interface OperationRingOptions {
  /** A batch is what was published at once, or a frame's worth of it. */
  readonly batchesMax: number;
  readonly bytesMax: number;
}

interface Chunk {
  readonly base: number;
  readonly last: number;
  readonly encoded: Uint8Array;
  readonly operations: number;
  /** Of all chunks since the ring was made, this one included. */
  readonly endBytes: number;
  readonly endOperations: number;
  /** Monotonic time. */
  readonly publishedMs: number;
}

export interface RingSlice {
  readonly chunks: readonly Uint8Array[];
  readonly last: number;
}

const frameBytesMax = meshLimits.pushFrameBytesMax.value;
const compactAbove = 1_024;

export class OperationRing {
  readonly #options: OperationRingOptions;
  // Those before #head are gone; they are cut off in bulk.
  #chunks: (Chunk | undefined)[] = [];
  #head = 0;
  #last = 0;
  #endBytes = 0;
  #endOperations = 0;

  constructor(options: OperationRingOptions) {
    this.#options = options;
  }

  /** The last counter published. */
  get last(): number {
    return this.#last;
  }

  /** The lowest counter held; `last + 1` when there is none. */
  get first(): number {
    return this.#at(this.#head)?.base ?? this.#last + 1;
  }

  get bytes(): number {
    return this.bytesAfter(0);
  }

  get operations(): number {
    return this.operationsAfter(0);
  }

  /** Empties it; the next counter published is `last + 1`. */
  reset(last: number): void {
    this.#chunks = [];
    this.#head = 0;
    this.#last = last;
  }

  /** Takes an Operations message that covers the counters from `base` to `last`. */
  push(encoded: Uint8Array, base: number, last: number, nowMs: number): void {
    assert(base <= last, 'M10: a message has at least one counter');
    if (this.#head === this.#chunks.length && this.#last === 0) this.#last = base - 1;
    assert(base === this.#last + 1, `M10: ${base} follows ${this.#last}`);
    if (encoded.length <= frameBytesMax) {
      this.#append(encoded, base, last, countOperations(encoded), nowMs);
    } else {
      this.#appendInParts(encoded, nowMs);
      assert(this.#last === last, `M10: the operations end at ${this.#last}, not at ${last}`);
    }
    const { batchesMax, bytesMax } = this.#options;
    while (this.bytes > bytesMax || this.#chunks.length - this.#head > batchesMax)
      this.#dropFirst();
  }

  /** Drops operations up to this counter. */
  free(counter: number): void {
    for (let first = this.#at(this.#head); first !== undefined && first.last <= counter; ) {
      this.#dropFirst();
      first = this.#at(this.#head);
    }
  }

  has(counter: number): boolean {
    return counter >= this.first && counter <= this.#last;
  }

  /** Operations from this counter on, about a frame's worth. It may begin before, in the middle of a chunk. */
  read(from: number): RingSlice {
    assert(this.has(from), `M10: ${from} is in the ring`);
    const chunks: Uint8Array[] = [];
    let last = 0;
    let bytes = 0;
    for (let index = this.#indexOf(from); ; index += 1) {
      const chunk = this.#at(index);
      if (chunk === undefined) break;
      bytes += chunk.encoded.length;
      if (bytes > frameBytesMax && chunks.length > 0) break;
      chunks.push(chunk.encoded);
      last = chunk.last;
    }
    return { chunks, last };
  }

  /** Bytes held of the operations after this counter. */
  bytesAfter(counter: number): number {
    const next = this.#at(this.#indexOf(counter + 1));
    return next === undefined ? 0 : this.#endBytes - next.endBytes + next.encoded.length;
  }

  /** Operations held after this counter, to the chunk. */
  operationsAfter(counter: number): number {
    const next = this.#at(this.#indexOf(counter + 1));
    return next === undefined ? 0 : this.#endOperations - next.endOperations + next.operations;
  }

  /** When the operation with this counter, or the oldest one after it, was published; undefined if there is none. */
  publishedMs(counter: number): number | undefined {
    return this.#at(this.#indexOf(counter))?.publishedMs;
  }

  #appendInParts(encoded: Uint8Array, nowMs: number): void {
    let from = 0;
    let end = 0;
    let operations = 0;
    let [base, last] = [0, this.#last];
    for (const head of readOperationHeads(encoded)) {
      if (operations > 0 && head.end - from > frameBytesMax) {
        this.#append(encoded.subarray(from, end), base, last, operations, nowMs);
        from = end;
        operations = 0;
      }
      if (operations === 0) base = head.base;
      assert(head.base === last + 1, `M10: ${head.base} follows ${last}`);
      last = head.last;
      end = head.end;
      operations += 1;
    }
    this.#append(encoded.subarray(from, end), base, last, operations, nowMs);
  }

  #append(
    encoded: Uint8Array,
    base: number,
    last: number,
    operations: number,
    publishedMs: number,
  ): void {
    assert(
      encoded.length <= meshLimits.messageBytesMax.value,
      'M10: an operation fits into a frame',
    );
    this.#endBytes += encoded.length;
    this.#endOperations += operations;
    this.#chunks.push({
      base,
      last,
      encoded,
      operations,
      endBytes: this.#endBytes,
      endOperations: this.#endOperations,
      publishedMs,
    });
    this.#last = last;
  }

  #dropFirst(): void {
    this.#chunks[this.#head] = undefined;
    this.#head += 1;
    const isEmpty = this.#head === this.#chunks.length;
    if (isEmpty || (this.#head >= compactAbove && this.#head * 2 >= this.#chunks.length)) {
      this.#chunks = this.#chunks.slice(this.#head);
      this.#head = 0;
    }
  }

  #at(index: number): Chunk | undefined {
    return this.#chunks[index];
  }

  /** Of the first chunk that ends at or after this counter. */
  #indexOf(counter: number): number {
    let low = this.#head;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#at(middle)?.last ?? 0) < counter) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
