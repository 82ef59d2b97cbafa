// Reads the Protobuf wire format field by field, without an object per field, and never beyond the end of the
// message.
//
// There are two ways to read. Callers that follow a contract read `field`, then its value by type, and `skip` what
// they do not know, so that a newer sender can send more. A known field must have the wire type of the contract: read
// as another type, its bytes would become values that were never sent. Callers that refuse unknown fields read whole
// tags with `uint32` and compare them.
//
// Groups, which no contract here uses, are refused. A declared length allocates nothing.
import { SynclineError } from '../error.js';

export const wireTypes = { varint: 0, fixed64: 1, delimited: 2, fixed32: 5 } as const;

/** `corrupt` for what was stored here, `invalid-argument` for what was received. */
export type WireFailure = 'corrupt' | 'invalid-argument';

const causes = {
  corrupt: 'The data is damaged, or another version wrote it.',
  'invalid-argument': 'The sender may run another version.',
} as const satisfies Record<WireFailure, string>;

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const uint32Max = 0xffff_ffff;
const tagBytesMax = 5;
const lastUnit = 2 ** 63; // of the tenth byte of a varint, which has one bit

export class WireReader {
  bytes: Uint8Array;
  /** The next byte to read. */
  position = 0;
  /** Nothing is read from here on. */
  end: number;
  readonly #what: string;
  readonly #failure: WireFailure;
  #view: DataView | undefined;
  #buffer: Buffer | undefined;
  #wireType = -1;

  /** `what` is the name of the whole in errors. */
  constructor(what: string, bytes: Uint8Array, failure: WireFailure = 'invalid-argument') {
    this.#what = what;
    this.#failure = failure;
    this.bytes = bytes;
    this.end = bytes.length;
  }

  /** Starts over, with other bytes or elsewhere in the same. */
  reset(bytes: Uint8Array, position = 0): void {
    if (bytes !== this.bytes) {
      this.bytes = bytes;
      this.#view = undefined;
      this.#buffer = undefined;
    }
    this.position = position;
    this.end = bytes.length;
  }

  get view(): DataView {
    this.#view ??= viewOf(this.bytes);
    return this.#view;
  }

  get isAtEnd(): boolean {
    return this.position >= this.end;
  }

  // Without a contract: bare values, one after another.

  /** A varint below 2^32: a number, or a whole tag. */
  uint32(): number {
    const { position } = this;
    const first = position < this.end ? (this.bytes[position] as number) : this.#cut();
    if (first < 0x80) {
      this.position = position + 1;
      return first;
    }
    const value = this.#longVarint(first & 0x7f);
    return value <= uint32Max ? value : this.fail('a number takes more than 32 bits');
  }

  /** A varint up to 2^53 - 1. */
  safeInteger(): number {
    const value = this.#varint();
    return value === Number.POSITIVE_INFINITY ? this.fail('a number is above 2^53 - 1') : value;
  }

  /** Reads a length; returns where that many bytes end. */
  delimitedEnd(): number {
    const length = this.uint32();
    if (length > this.end - this.position)
      this.fail(`a field of ${length} bytes extends beyond the end`);
    return this.position + length;
  }

  /** Reads a length and that many bytes; returns a view of them. */
  delimited(): Uint8Array {
    const end = this.delimitedEnd();
    const start = this.position;
    this.position = end;
    return this.bytes.subarray(start, end);
  }

  fixed32(): number {
    return this.view.getUint32(this.#take(4), true);
  }

  // By a contract: `field`, then the value by its type.

  /** The number of the next field; 0 at the end of the message. */
  field(): number {
    const start = this.position;
    if (start >= this.end) return 0;
    const tag = this.uint32();
    if (this.position - start > tagBytesMax) this.fail('a tag takes more than 5 bytes');
    this.#wireType = tag & 7;
    const number = tag >>> 3;
    return number === 0 ? this.fail('a field has number 0') : number;
  }

  /** Enters the message that the field holds; pass what it returns to `leave` at its end. */
  enter(): number {
    this.#expect(wireTypes.delimited);
    const outerEnd = this.end;
    this.end = this.delimitedEnd();
    return outerEnd;
  }

  leave(outerEnd: number): void {
    this.end = outerEnd;
  }

  /** The message or bytes that the field holds, as a view. */
  message(): Uint8Array {
    this.#expect(wireTypes.delimited);
    return this.delimited();
  }

  /** A uint64. Values above 2^53 - 1 are refused. */
  uint(): number {
    this.#expect(wireTypes.varint);
    return this.safeInteger();
  }

  word(): number {
    this.#expect(wireTypes.varint);
    return this.uint32();
  }

  /** A uint64; Infinity above 2^53 - 1, for callers that check values later. */
  uintOrInfinity(): number {
    this.#expect(wireTypes.varint);
    return this.#varint();
  }

  /** A uint64 as a bigint. */
  bigint(): bigint {
    this.#expect(wireTypes.varint);
    const start = this.position;
    const value = this.#varint();
    if (value !== Number.POSITIVE_INFINITY) return BigInt(value);
    let whole = 0n;
    for (let at = this.position - 1; at >= start; at -= 1) {
      whole = (whole << 7n) | BigInt((this.bytes[at] ?? 0) & 0x7f);
    }
    return whole;
  }

  /** A negative one takes 64 bits on the wire. */
  int32(): number {
    return Number(BigInt.asIntN(32, this.bigint()));
  }

  /** An int32 in zigzag. `field` is its name in errors. */
  sint(field?: string): number {
    const value = this.uint();
    if (value > uint32Max) return this.fail('a number is not an int32', field);
    return (value >>> 1) ^ -(value & 1);
  }

  bool(): boolean {
    return this.uintOrInfinity() !== 0;
  }

  double(): number {
    this.#expect(wireTypes.fixed64);
    return this.view.getFloat64(this.#take(8), true);
  }

  fixed64(): bigint {
    this.#expect(wireTypes.fixed64);
    return this.view.getBigUint64(this.#take(8), true);
  }

  text(): string {
    this.#expect(wireTypes.delimited);
    const end = this.delimitedEnd();
    const start = this.position;
    this.position = end;
    this.#buffer ??= bufferOf(this.bytes);
    const text = this.#buffer.toString('utf8', start, end);
    // Only what is replaced can have been wrong, and it is rare.
    if (text.includes('\ufffd') && !isUtf8(this.bytes.subarray(start, end)))
      return this.fail('a string is not valid UTF-8');
    return text;
  }

  /** Skips the field whose number was just read. */
  skip(): void {
    switch (this.#wireType) {
      case wireTypes.varint:
        this.#varint();
        return;
      case wireTypes.fixed64:
        this.#take(8);
        return;
      case wireTypes.delimited:
        this.position = this.delimitedEnd();
        return;
      case wireTypes.fixed32:
        this.#take(4);
        return;
      default:
        this.fail(`a field has wire type ${this.#wireType}`);
    }
  }

  fail(why: string, field = this.#what, cause?: unknown): never {
    const { position } = this;
    throw new SynclineError(
      this.#failure,
      `malformed ${this.#what}: ${why}, at byte ${position} of ${this.bytes.length}. ${causes[this.#failure]}`,
      { details: { field, reason: why, position }, cause },
    );
  }

  #expect(wireType: number): void {
    if (this.#wireType !== wireType)
      this.fail(`a field has wire type ${this.#wireType}, not ${wireType}`);
  }

  /** Skips this many bytes and returns where they begin. */
  #take(bytesCount: number): number {
    const start = this.position;
    if (bytesCount > this.end - start) this.fail('it ends inside a field');
    this.position = start + bytesCount;
    return start;
  }

  /** Infinity above 2^53 - 1. */
  #varint(): number {
    const { position } = this;
    const first = position < this.end ? (this.bytes[position] as number) : this.#cut();
    if (first >= 0x80) return this.#longVarint(first & 0x7f);
    this.position = position + 1;
    return first;
  }

  /** Four bytes carry 28 bits, for which integers are enough. */
  #longVarint(first: number): number {
    const { bytes, end } = this;
    let at = this.position + 1;
    let value = first;
    for (let shift = 7; shift < 28; shift += 7) {
      const byte = at < end ? (bytes[at] as number) : this.#cut();
      at += 1;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        this.position = at;
        return value;
      }
    }
    for (let unit = 2 ** 28; unit <= lastUnit; unit *= 0x80) {
      const byte = at < end ? (bytes[at] as number) : this.#cut();
      at += 1;
      value += (byte & 0x7f) * unit;
      if (byte >= 0x80) continue;
      if (unit === lastUnit && byte > 1) this.fail('a number takes more than 64 bits');
      this.position = at;
      return value <= Number.MAX_SAFE_INTEGER ? value : Number.POSITIVE_INFINITY;
    }
    return this.fail('a number takes more than 10 bytes');
  }

  #cut(): never {
    return this.fail('it ends inside a field');
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** Without `node:buffer`, which bundles for other platforms do not have. */
export function isUtf8(bytes: Uint8Array): boolean {
  try {
    strictUtf8.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  if (Buffer.isBuffer(bytes)) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
