// A growable buffer and the primitive encodings of the snapshot format: big-endian integers, LEB128
// varints, zigzag and UTF-8.
//
// One writer is cleared and reused for many entries, so that encoding allocates only the bytes that are kept.

const BYTES_FIRST = 1_024;
/** Above this length, the native encoder is faster than a loop over the characters. */
const SHORT_TEXT = 64;
/** Up to this length, a loop is faster than the native copy. */
const SHORT_BYTES = 64;
const HIGH_WORD = 2 ** 32;

const encoder = new TextEncoder();

export class ByteWriter {
  #bytes: Uint8Array;
  #view: DataView;
  #length = 0;

  constructor(bytesFirst = BYTES_FIRST) {
    this.#bytes = new Uint8Array(bytesFirst);
    this.#view = new DataView(this.#bytes.buffer);
  }

  get length(): number {
    return this.#length;
  }

  /** The written bytes, followed by unused space. Creating a view per short entry costs more than copying its bytes. */
  get buffer(): Uint8Array {
    return this.#bytes;
  }

  /** The bytes from `start` up to `end`. The view is valid until the next write. */
  view(start = 0, end = this.#length): Uint8Array {
    return this.#bytes.subarray(start, end);
  }

  /** A copy of the bytes from `start` up to `end`. */
  copy(start = 0, end = this.#length): Uint8Array {
    return this.#bytes.slice(start, end);
  }

  clear(): void {
    this.#length = 0;
  }

  /** Drops the first `count` bytes and moves the rest to the front. */
  dropFirst(count: number): void {
    this.#bytes.copyWithin(0, count, this.#length);
    this.#length -= count;
  }

  u8(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length] = value;
    this.#length += 1;
  }

  u16(value: number): void {
    this.#reserve(2);
    this.#view.setUint16(this.#length, value);
    this.#length += 2;
  }

  u32(value: number): void {
    this.#reserve(4);
    this.#view.setUint32(this.#length, value);
    this.#length += 4;
  }

  setU32(at: number, value: number): void {
    this.#view.setUint32(at, value);
  }

  getU32(at: number): number {
    return this.#view.getUint32(at);
  }

  /** A whole number from 0 to 2^53 - 1. */
  u64(value: number): void {
    this.u32(Math.floor(value / HIGH_WORD));
    this.u32(value % HIGH_WORD);
  }

  /** A safe integer in two's complement. */
  i64(value: number): void {
    const high = Math.floor(value / HIGH_WORD);
    this.u32(high);
    this.u32(value - high * HIGH_WORD);
  }

  /** A whole number from 0 to 2^53 - 1 in LEB128. */
  varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.u8((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    this.u8(rest);
  }

  /** A safe integer as zigzag LEB128. Doubling it could exceed 2^53, so the sign goes into the first byte. */
  zigzag(value: number): void {
    const sign = value < 0 ? 1 : 0;
    const magnitude = sign === 0 ? value : -value - 1;
    const low = ((magnitude % 0x40) << 1) | sign;
    const rest = Math.floor(magnitude / 0x40);
    this.u8(rest === 0 ? low : low | 0x80);
    if (rest > 0) this.varint(rest);
  }

  /** The bytes of `content` from `start` up to `end`. */
  bytes(content: Uint8Array, start = 0, end = content.length): void {
    const length = end - start;
    this.#reserve(length);
    if (length > SHORT_BYTES) this.#bytes.set(content.subarray(start, end), this.#length);
    else {
      const bytes = this.#bytes;
      for (let from = start, to = this.#length; from < end; from += 1, to += 1) {
        bytes[to] = content[from] as number;
      }
    }
    this.#length += length;
  }

  /** Text in UTF-8. It must be well formed: a lone surrogate would be replaced. */
  utf8(text: string): void {
    this.#reserve(text.length * 3);
    if (text.length > SHORT_TEXT || !this.#ascii(text)) {
      this.#length += encoder.encodeInto(text, this.#bytes.subarray(this.#length)).written;
    }
  }

  /** Starts a length-prefixed part. Pass the result to `endSized`. */
  beginSized(): number {
    this.u8(0);
    return this.#length;
  }

  /** Fills in the length as a varint. Parts under 128 bytes, such as nearly all keys, need not be moved. */
  endSized(start: number): void {
    const size = this.#length - start;
    if (size < 0x80) {
      this.#bytes[start - 1] = size;
      return;
    }
    const part = this.copy(start);
    this.#length = start - 1;
    this.varint(size);
    this.bytes(part);
  }

  /** Returns false and writes nothing if the text is not ASCII. */
  #ascii(text: string): boolean {
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (code >= 0x80) return false;
      this.#bytes[this.#length + index] = code;
    }
    this.#length += text.length;
    return true;
  }

  #reserve(count: number): void {
    const end = this.#length + count;
    if (end <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(end, this.#bytes.length * 2));
    grown.set(this.#bytes);
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}
