// A run of consecutive symbols of one set, and its wire format.
//
// A symbol is the xor of some items (three words), the xor of their hashes (two words) and their count. All
// symbols of a block lie in one Int32Array, six words each, so there is no object per symbol and one symbol is
// one cache line.
//
// On the wire sums and checks are big endian, and a count travels as its difference from the expected one,
// floor(2N / (i + 2)) for symbol i of a set of N items. That is a small number, so a varint holds it in one or
// two bytes. `toColumns` leaves the framing to the caller, `toBytes` is a complete message.
//
// R7  What is read back equals what was written, and any other bytes are refused with `corrupt`.
// R8  Reading allocates in proportion to the bytes given, whatever they claim.
import { SYMBOL_INDEX_END } from './mapping.js';
import { RibltError } from './riblt-error.js';

/** Words of a symbol: w0 w1 w2 of the sum, h0 h1 of the check, count. */
export const SYMBOL_WORDS = 6;

/** Items of the set behind a block: the count of symbol 0 is a signed word. */
export const BLOCK_ITEMS_MAX = 2 ** 31 - 1;

const SUM_BYTES = 12;
const CHECK_BYTES = 8;
/** A symbol with a count of one byte. */
const SYMBOL_BYTES_MIN = SUM_BYTES + CHECK_BYTES + 1;
const VARINT_BYTES_MAX = 5;

/** A block as three columns, for callers with a wire format of their own. */
export interface SymbolColumns {
  /** Index of the first symbol. */
  readonly from: number;
  /** Items of the whole set. */
  readonly itemsCount: number;
  /** 12 bytes per symbol. */
  readonly sums: Uint8Array;
  /** 8 bytes per symbol. */
  readonly checks: Uint8Array;
  /** One per symbol: count minus expected count, a `sint32` in Protobuf. */
  readonly counts: ArrayLike<number>;
}

export class SymbolBlock {
  /** Index of the first symbol. */
  readonly from: number;
  /** Items of the whole set, which is also the count of symbol 0. */
  readonly itemsCount: number;
  /** SYMBOL_WORDS per symbol. */
  readonly words: Int32Array;

  /** For use inside the package: nothing is checked. Blocks come from a Sketch, an Encoder or a peer. */
  constructor(from: number, itemsCount: number, words: Int32Array) {
    this.from = from;
    this.itemsCount = itemsCount;
    this.words = words;
  }

  /** Number of symbols. */
  get length(): number {
    return this.words.length / SYMBOL_WORDS;
  }

  /** Throws a RangeError for a block of a difference: only those of a set have a wire form. */
  toColumns(): SymbolColumns & { readonly counts: Int32Array } {
    const { from, itemsCount, words, length } = this;
    const sums = new Uint8Array(length * SUM_BYTES);
    const checks = new Uint8Array(length * CHECK_BYTES);
    const counts = new Int32Array(length);
    const sumsView = new DataView(sums.buffer);
    const checksView = new DataView(checks.buffer);
    for (let i = 0; i < length; i += 1) {
      const at = i * SYMBOL_WORDS;
      for (let word = 0; word < 3; word += 1) {
        sumsView.setInt32(i * SUM_BYTES + word * 4, words[at + word] as number);
      }
      checksView.setInt32(i * CHECK_BYTES, words[at + 3] as number);
      checksView.setInt32(i * CHECK_BYTES + 4, words[at + 4] as number);
      const count = words[at + 5] as number;
      if (count < 0 || count > itemsCount) {
        throw new RangeError('a difference has no wire form, only the symbols of a set have one');
      }
      counts[i] = count - expectedCount(itemsCount, from + i);
    }
    return { from, itemsCount, sums, checks, counts };
  }

  /** Throws a RibltError `corrupt` unless the columns can be those of a set. */
  static fromColumns({ from, itemsCount, sums, checks, counts }: SymbolColumns): SymbolBlock {
    const length = counts.length;
    requireRange('index of the first symbol', from, 0, SYMBOL_INDEX_END - 1);
    requireRange('number of items', itemsCount, 0, BLOCK_ITEMS_MAX);
    requireRange('number of symbols', length, 1, SYMBOL_INDEX_END - from);
    if (sums.length !== length * SUM_BYTES || checks.length !== length * CHECK_BYTES) {
      throw new RibltError(
        'corrupt',
        `the columns of a block differ in length: ${length} counts, ${sums.length} bytes of sums, ${checks.length} bytes of checks`,
      );
    }
    const words = new Int32Array(length * SYMBOL_WORDS);
    const sumsView = new DataView(sums.buffer, sums.byteOffset);
    const checksView = new DataView(checks.buffer, checks.byteOffset);
    for (let i = 0; i < length; i += 1) {
      const at = i * SYMBOL_WORDS;
      for (let word = 0; word < 3; word += 1) {
        words[at + word] = sumsView.getInt32(i * SUM_BYTES + word * 4);
      }
      words[at + 3] = checksView.getInt32(i * CHECK_BYTES);
      words[at + 4] = checksView.getInt32(i * CHECK_BYTES + 4);
      const count = (counts[i] as number) + expectedCount(itemsCount, from + i);
      if (!Number.isInteger(count) || count < 0 || count > itemsCount) {
        throw new RibltError(
          'corrupt',
          `symbol ${from + i} counts ${count} of ${itemsCount} items`,
        );
      }
      words[at + 5] = count;
    }
    if (from === 0 && words[5] !== itemsCount) {
      throw new RibltError('corrupt', `symbol 0 counts ${words[5]} of ${itemsCount} items`);
    }
    return new SymbolBlock(from, itemsCount, words);
  }

  /** The block as one message: from, itemsCount and length as varints, then the columns. */
  toBytes(): Uint8Array {
    const { sums, checks, counts } = this.toColumns();
    const bytes = new Uint8Array(
      VARINT_BYTES_MAX * (3 + counts.length) + sums.length + checks.length,
    );
    let end = 0;
    for (const value of [this.from, this.itemsCount, counts.length])
      end = putVarint(bytes, end, value);
    bytes.set(sums, end);
    bytes.set(checks, end + sums.length);
    end += sums.length + checks.length;
    for (const count of counts) end = putVarint(bytes, end, ((count << 1) ^ (count >> 31)) >>> 0);
    return bytes.slice(0, end);
  }

  /** Throws a RibltError `corrupt` for bytes that `toBytes` cannot have made of a set. */
  static fromBytes(bytes: Uint8Array): SymbolBlock {
    const reader = new ByteReader(bytes);
    const from = reader.takeVarint();
    const itemsCount = reader.takeVarint();
    const length = reader.takeVarint();
    if (length > bytes.length / SYMBOL_BYTES_MIN) {
      throw new RibltError('corrupt', `${bytes.length} bytes are too few for ${length} symbols`);
    }
    const sums = reader.takeBytes(length * SUM_BYTES);
    const checks = reader.takeBytes(length * CHECK_BYTES);
    const counts = new Int32Array(length);
    for (let i = 0; i < length; i += 1) {
      const zigzag = reader.takeVarint();
      counts[i] = (zigzag >>> 1) ^ -(zigzag & 1);
    }
    reader.expectEnd();
    return SymbolBlock.fromColumns({ from, itemsCount, sums, checks, counts });
  }
}

/** Subtracts symbols from symbols of the same indexes. */
export function subtractSymbols(words: Int32Array, others: Int32Array): void {
  for (let at = 0; at < words.length; at += SYMBOL_WORDS) {
    for (let word = at; word < at + 5; word += 1) {
      words[word] = (words[word] as number) ^ (others[word] as number);
    }
    words[at + 5] = (words[at + 5] as number) - (others[at + 5] as number);
  }
}

/** Exact: both numbers are below 2^33, so the quotient never rounds up to an integer. */
function expectedCount(itemsCount: number, index: number): number {
  return Math.floor((2 * itemsCount) / (index + 2));
}

function requireRange(what: string, value: number, min: number, max: number): void {
  if (Number.isInteger(value) && value >= min && value <= max) return;
  throw new RibltError('corrupt', `${what} is ${value}, expected ${min} to ${max}`);
}

/** Seven bits per byte, lowest first. Returns where the next value goes. */
function putVarint(bytes: Uint8Array, at: number, value: number): number {
  let end = at;
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes[end++] = (rest % 0x80) | 0x80;
  bytes[end++] = rest;
  return end;
}

class ByteReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** At most 32 bits, in the shortest form, so that each block has one encoding. */
  takeVarint(): number {
    let value = 0;
    for (let index = 0; index < VARINT_BYTES_MAX; index += 1) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) break;
      this.#at += 1;
      value += (byte & 0x7f) * 2 ** (7 * index);
      if (byte >= 0x80) continue;
      if ((byte === 0 && index > 0) || value >= 2 ** 32) break;
      return value;
    }
    throw new RibltError('corrupt', `no valid varint before byte ${this.#at}`);
  }

  takeBytes(count: number): Uint8Array {
    const end = this.#at + count;
    if (end > this.#bytes.length) throw new RibltError('corrupt', 'the block ends too early');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  expectEnd(): void {
    if (this.#at === this.#bytes.length) return;
    throw new RibltError('corrupt', `${this.#bytes.length - this.#at} bytes after the block`);
  }
}
