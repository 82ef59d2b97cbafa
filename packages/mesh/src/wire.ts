// Protobuf fields by hand: a reader that never leaves its bounds, and a writer that sizes its buffer first.
//
// The reader is stricter than Protobuf: callers refuse fields that they do not know. A frame that is only half
// understood must not be acted on; a new field needs a new version of the protocol.
import { isUtf8 } from 'node:buffer';
import { SynclineError } from '@syncline/kernel';

const varintBytesMax = 5;
const wordEnd = 2 ** 32;
const varintType = 0;
const delimitedType = 2;
const none = new Uint8Array(0);

/** Field number and wire type, as they stand before a value. */
export function varintTag(field: number): number {
  return (field << 3) | varintType;
}

export function delimitedTag(field: number): number {
  return (field << 3) | delimitedType;
}

/** Bytes that a number below 2^32 takes. */
function varintBytes(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x200000) return 3;
  return value < 0x10000000 ? 4 : 5;
}

export class WireReader {
  readonly bytes: Uint8Array;
  /** The next byte to read. */
  position: number;
  /** Nothing is read from here on. */
  readonly end: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.position = start;
    this.end = end;
  }

  get isAtEnd(): boolean {
    return this.position >= this.end;
  }

  /** A number below 2^32. */
  varint(): number {
    let value = 0;
    let scale = 1;
    for (let length = 1; length <= varintBytesMax; length += 1) {
      if (this.position >= this.end) return this.fail('a number extends beyond the end');
      const byte = this.bytes[this.position] ?? 0;
      this.position += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value < wordEnd ? value : this.fail('a number exceeds 32 bits');
      scale *= 0x80;
    }
    return this.fail('a number takes more than 5 bytes');
  }

  /** Reads a length and that many bytes; gives a view of them. */
  delimited(): Uint8Array {
    const end = this.delimitedEnd();
    const view = this.bytes.subarray(this.position, end);
    this.position = end;
    return view;
  }

  /** Reads a length; gives where that many bytes end. */
  delimitedEnd(): number {
    const length = this.varint();
    if (length > this.end - this.position) {
      this.fail(`a field of ${length} bytes extends beyond the end`);
    }
    return this.position + length;
  }

  fail(why: string): never {
    throw malformed(`${why}, near byte ${this.position} of ${this.bytes.length}`);
  }
}

export function malformed(why: string): SynclineError {
  return new SynclineError('invalid-argument', `malformed frame: ${why}`);
}

/** What a peer has done wrong, in words. Anything else that is thrown is a mistake of ours, and thrown on. */
export function peerFault(thrown: unknown): string {
  const isFault =
    thrown instanceof SynclineError &&
    (thrown.code === 'invalid-argument' || thrown.code === 'limit-exceeded');
  if (!isFault) throw thrown;
  return thrown.message;
}

/** The fields of one message. Absent ones have the default value; one that comes twice is refused. */
export class WireFields {
  /** The values of the field that may be repeated. */
  readonly repeated: Uint8Array[] = [];
  readonly #numbers: number[] = [];
  readonly #bytes: (Uint8Array | undefined)[] = [];

  /** `shape` has a letter per field, from number 1 on: n number, b bytes, r bytes that may be repeated. */
  constructor(body: Uint8Array, shape: string, repeatedMax = 0) {
    const reader = new WireReader(body);
    let seen = 0;
    while (!reader.isAtEnd) {
      const tag = reader.varint();
      const field = tag >>> 3;
      const letter = shape[field - 1];
      if (letter === undefined || (tag & 7) !== (letter === 'n' ? varintType : delimitedType)) {
        reader.fail(`field tag ${tag} is unknown`);
      }
      if (letter !== 'r' && (seen & (1 << field)) !== 0) reader.fail(`field ${field} comes twice`);
      seen |= 1 << field;
      if (letter === 'n') this.#numbers[field] = reader.varint();
      else if (letter === 'b') this.#bytes[field] = reader.delimited();
      else if (this.repeated.push(reader.delimited()) > repeatedMax) {
        reader.fail(`field ${field} comes more than ${repeatedMax} times`);
      }
    }
  }

  number(field: number): number {
    return this.#numbers[field] ?? 0;
  }

  bytes(field: number): Uint8Array {
    return this.#bytes[field] ?? none;
  }

  text(field: number, bytesMax: number): string {
    const bytes = this.bytes(field);
    if (bytes.length > bytesMax) {
      throw malformed(`a text has ${bytes.length} bytes, at most ${bytesMax}`);
    }
    if (!isUtf8(bytes)) throw malformed('a text is not UTF-8');
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  }
}

/** Collects fields. Those with the default value are left out, as Protobuf does. */
export class WireWriter {
  readonly #parts: (number | Uint8Array)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  number(field: number, value: number): this {
    return value === 0 ? this : this.#varint(varintTag(field)).#varint(value);
  }

  flag(field: number, value: boolean): this {
    return this.number(field, value ? 1 : 0);
  }

  bytes(field: number, value: Uint8Array): this {
    return value.length === 0 ? this : this.delimited(field, value.length).raw(value);
  }

  text(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value));
  }

  /** A message within this one, also if it is empty. */
  message(field: number, content: WireWriter): this {
    this.delimited(field, content.size);
    for (const part of content.#parts) this.#parts.push(part);
    this.#size += content.size;
    return this;
  }

  /** Tag and length; `length` bytes must follow. */
  delimited(field: number, length: number): this {
    return this.#varint(delimitedTag(field)).#varint(length);
  }

  raw(bytes: Uint8Array): this {
    this.#parts.push(bytes);
    this.#size += bytes.length;
    return this;
  }

  /** All that was written, behind `headroom` bytes that the caller fills. */
  finish(headroom = 0): Uint8Array {
    const result = Buffer.allocUnsafe(headroom + this.#size);
    let at = headroom;
    for (const part of this.#parts) {
      if (typeof part === 'number') {
        at = writeVarint(result, at, part);
      } else {
        result.set(part, at);
        at += part.length;
      }
    }
    return result;
  }

  #varint(value: number): this {
    this.#parts.push(value);
    this.#size += varintBytes(value);
    return this;
  }
}

function writeVarint(bytes: Uint8Array, position: number, value: number): number {
  let at = position;
  let rest = value;
  while (rest >= 0x80) {
    bytes[at] = rest | 0x80; // the array keeps the low 8 bits
    at += 1;
    rest >>>= 7;
  }
  bytes[at] = rest;
  return at + 1;
}
