// Reads the protobuf wire format field by field, without an object per message or field.
//
// It accepts the bytes that Protobuf-ES accepts and no others, its leniencies included: like there, the
// type of a known field comes from the contract and not from its tag, and bits that do not fit are cut
// off. What is malformed throws `invalid-argument` with the place.
import { SynclineError } from '@syncline/kernel';

const WIRE_TYPE = { varint: 0, fixed64: 1, delimited: 2, startGroup: 3, endGroup: 4, fixed32: 5 };
const fieldNumberShift = 3;
const wireTypeMask = 7;
const continues = 0x80; // a byte of a varint from here up is not its last
const varintBytesMax = 10;
const tagBytesMax = 5;
const depthMax = 100;
const elementBytesGuess = 32; // usual ones have 20 to 45

const utf8 = new TextDecoder('utf-8', { fatal: true });

export class WireReader {
  readonly #message: string;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #elementsMax: number;
  #elementsCount = 0;
  #position = 0;
  #tag = 0;

  /** `message` is the name that errors give to the whole. */
  constructor(message: string, bytes: Uint8Array, elementsMax: number) {
    this.#message = message;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#elementsMax = elementsMax;
  }

  get position(): number {
    return this.#position;
  }

  get end(): number {
    return this.#bytes.length;
  }

  /** The number of the next field. */
  field(): number {
    const start = this.#position;
    const tag = this.uint32();
    const bytesCount = this.#position - start;
    const overflows =
      bytesCount > tagBytesMax ||
      (bytesCount === tagBytesMax && (this.#bytes[this.#position - 1] as number) > 0x0f);
    if (overflows) this.#fail('a tag is above 32 bits');
    const number = tag >>> fieldNumberShift;
    if (number === 0) this.#fail('a field has number 0');
    if ((tag & wireTypeMask) > WIRE_TYPE.fixed32) this.#fail('a tag has an unknown wire type');
    this.#tag = tag;
    return number;
  }

  /** Where the nested message that begins here says that it ends. */
  nestedEnd(): number {
    const length = this.uint32();
    return this.#position + length;
  }

  /** For how many more elements of a list that ends at `listEnd` to make room at first. */
  elementsGuess(listEnd: number): number {
    const bytesCount = Math.min(listEnd, this.#bytes.length) - this.#position;
    return Math.min(this.#elementsMax, Math.ceil(bytesCount / elementBytesGuess) + 1);
  }

  /** Call it at each element of a list, before there is room for it. */
  countElement(list: string): void {
    this.#elementsCount += 1;
    if (this.#elementsCount <= this.#elementsMax) return;
    throw new SynclineError(
      'invalid-argument',
      `${list} holds ${this.#elementsCount} elements or more, at most ${this.#elementsMax}; split the message`,
      { details: { field: list, count: this.#elementsCount, limit: this.#elementsMax } },
    );
  }

  /** A uint64 as a number; Infinity above 2^53 - 1. */
  integer(): number {
    let byte = this.#byte();
    if (byte < continues) return byte;
    let low = byte & 0x7f;
    for (let shift = 7; shift < 28; shift += 7) {
      byte = this.#byte();
      low |= (byte & 0x7f) << shift;
      if (byte < continues) return low;
    }
    let middle = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      byte = this.#byte();
      middle |= (byte & 0x7f) << shift;
      if (byte < continues) return joined(low, middle, 0);
    }
    let high = 0;
    for (let shift = 0; shift < 14; shift += 7) {
      byte = this.#byte();
      high |= (byte & 0x7f) << shift;
      if (byte < continues) return joined(low, middle, high & 0xff);
    }
    return this.#fail('a varint has more than 10 bytes');
  }

  /** A uint64, whole. */
  bigint(): bigint {
    const start = this.#position;
    const value = this.integer();
    if (value !== Number.POSITIVE_INFINITY) return BigInt(value);
    let whole = 0n;
    for (let at = this.#position - 1; at >= start; at -= 1) {
      whole = (whole << 7n) | BigInt((this.#bytes[at] as number) & 0x7f);
    }
    return BigInt.asUintN(64, whole);
  }

  /** The low 32 bits of a varint. */
  uint32(): number {
    let byte = this.#byte();
    if (byte < continues) return byte;
    let value = byte & 0x7f;
    for (let index = 1; index < varintBytesMax; index += 1) {
      byte = this.#byte();
      if (index < tagBytesMax) value |= (byte & 0x7f) << (7 * index);
      if (byte < continues) return value >>> 0;
    }
    return this.#fail('a varint has more than 10 bytes');
  }

  bool(): boolean {
    return this.integer() !== 0;
  }

  double(): number {
    return this.#view.getFloat64(this.#take(8), true);
  }

  fixed64(): bigint {
    return this.#view.getBigUint64(this.#take(8), true);
  }

  string(): string {
    const length = this.uint32();
    const start = this.#take(length);
    try {
      return utf8.decode(this.#bytes.subarray(start, start + length));
    } catch (cause) {
      return this.#fail('a text is not UTF-8', cause);
    }
  }

  /** Passes over the field whose number was just read. `depth` counts the messages around it from 1. */
  skip(depth: number): void {
    this.#skip(this.#tag, depthMax - depth);
  }

  #skip(tag: number, groupsLeft: number): void {
    switch (tag & wireTypeMask) {
      case WIRE_TYPE.varint:
        while (this.#byte() >= continues);
        return;
      case WIRE_TYPE.fixed64:
        this.#take(8);
        return;
      case WIRE_TYPE.delimited:
        this.#take(this.uint32());
        return;
      case WIRE_TYPE.startGroup:
        this.#skipGroup(tag, groupsLeft);
        return;
      case WIRE_TYPE.fixed32:
        this.#take(4);
        return;
      default:
        this.#fail('a group ends that did not begin');
    }
  }

  #skipGroup(tag: number, groupsLeft: number): void {
    if (groupsLeft <= 0) this.#fail(`more than ${depthMax} levels are nested`);
    const endTag = ((tag & ~wireTypeMask) | WIRE_TYPE.endGroup) >>> 0;
    for (;;) {
      this.field();
      if (this.#tag === endTag) return;
      this.#skip(this.#tag, groupsLeft - 1);
    }
  }

  #byte(): number {
    if (this.#position >= this.#bytes.length) this.#fail('it ends inside a field');
    const byte = this.#bytes[this.#position] as number;
    this.#position += 1;
    return byte;
  }

  /** Passes over so many bytes and returns where they begin. */
  #take(bytesCount: number): number {
    const start = this.#position;
    if (bytesCount > this.#bytes.length - start) this.#fail('it ends inside a field');
    this.#position = start + bytesCount;
    return start;
  }

  #fail(why: string, cause?: unknown): never {
    const field = this.#tag >>> fieldNumberShift;
    throw new SynclineError(
      'invalid-argument',
      `malformed ${this.#message}: ${why}, at byte ${this.#position} of ${this.#bytes.length}, in or after field number ${field}; is the sender built from another contract?`,
      {
        details: {
          field: this.#message,
          reason: why,
          position: this.#position,
          fieldNumber: field,
        },
        cause,
      },
    );
  }
}

/** From 28, 28 and 8 bits. */
function joined(low: number, middle: number, high: number): number {
  if (high !== 0 || middle >= 0x200_0000) return Number.POSITIVE_INFINITY;
  return low + middle * 0x1000_0000;
}
