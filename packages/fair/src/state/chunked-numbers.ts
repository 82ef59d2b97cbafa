// A long list of numbers that takes memory only where something was set: it lies in chunks, and a chunk that
// was never written to is shared by all lists and filled with zeros (or another default). A tracker of a
// quarter of a million cells in which one was touched then costs as much as one of a thousand cells.

const CHUNK_BITS = 10;

/** Entries that take memory together. */
export const CHUNK_LENGTH = 2 ** CHUNK_BITS;

const CHUNK_MASK = CHUNK_LENGTH - 1;

export function chunkOf(index: number): number {
  return index >>> CHUNK_BITS;
}

export class ChunkedNumbers {
  readonly #rest: Float64Array;
  readonly #chunks: Float64Array[] = [];

  /** `rest`: the value of entries that were never set. */
  constructor(rest = 0) {
    this.#rest = restOf(rest);
  }

  at(index: number): number {
    return this.#chunks[chunkOf(index)]?.[index & CHUNK_MASK] ?? this.#rest[0] ?? 0;
  }

  set(index: number, value: number): void {
    const chunk = this.#chunks[chunkOf(index)];
    if (chunk === undefined || chunk === this.#rest) this.#open(index)[index & CHUNK_MASK] = value;
    else chunk[index & CHUNK_MASK] = value;
  }

  /** Whether setting this entry takes no more memory. */
  isOpen(index: number): boolean {
    const chunk = this.#chunks[chunkOf(index)];
    return chunk !== undefined && chunk !== this.#rest;
  }

  #open(index: number): Float64Array {
    const at = chunkOf(index);
    while (this.#chunks.length < at) this.#chunks.push(this.#rest); // a list without holes is faster
    const chunk = this.#rest.slice();
    this.#chunks[at] = chunk;
    return chunk;
  }
}

const rests = new Map<number, Float64Array>();

function restOf(value: number): Float64Array {
  const known = rests.get(value);
  if (known !== undefined) return known;
  const rest = new Float64Array(CHUNK_LENGTH).fill(value);
  rests.set(value, rest);
  return rest;
}
