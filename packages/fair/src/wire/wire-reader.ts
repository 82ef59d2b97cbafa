// Reads the protobuf wire format field by field, without an object per message or field.
//
// It accepts the bytes that Protobuf-ES accepts and no others, its leniencies included: like there, the
// type of a known field comes from the contract and not from its tag, and bits that do not fit are cut
// off. What is malformed throws `invalid-argument` with the place.
import { SynclineError } from '@syncline/kernel';

// Wire types. 6 and 7 do not exist.
const varint = 0;
const fixed64 = 1;
const delimited = 2;
const startGroup = 3;
const endGroup = 4;
const fixed32 = 5;

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
    if (this.#position - start >= tagBytesMax) this.#checkLongTag(start);
    const number = tag >>> fieldNumberShift;
    if (number === 0) this.#fail('a field has number 0');
    if ((tag & wireTypeMask) > fixed32) this.#fail('a tag has an unknown wire type');
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
    const bytes = this.#bytes;
    let at = this.#position;
    let low = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = bytes[at] ?? 0; // behind the end it is 0, and #moveTo refuses
      at += 1;
      low |= (byte & 0x7f) << shift;
      if (byte < continues) return this.#moveTo(at, low);
    }
    let middle = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = bytes[at] ?? 0;
      at += 1;
      middle |= (byte & 0x7f) << shift;
      if (byte < continues) return this.#moveTo(at, joined(low, middle, 0));
    }
    let high = 0;
    for (let shift = 0; shift < 14; shift += 7) {
      const byte = bytes[at] ?? 0;
      at += 1;
      high |= (byte & 0x7f) << shift;
      if (byte < continues) return this.#moveTo(at, joined(low, middle, high & 0xff));
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
      whole = (whole << 7n) | BigInt((this.#bytes[at] ?? 0) & 0x7f);
    }
    return BigInt.asUintN(64, whole);
  }

  /** The low 32 bits of a varint. */
  uint32(): number {
    const bytes = this.#bytes;
    let at = this.#position;
    let value = 0;
    for (let shift = 0; shift < 7 * varintBytesMax; shift += 7) {
      const byte = bytes[at] ?? 0;
      at += 1;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < continues) return this.#moveTo(at, value >>> 0);
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
      case varint:
        this.#skipVarint();
        return;
      case fixed64:
        this.#take(8);
        return;
      case delimited:
        this.#take(this.uint32());
        return;
      case startGroup:
        this.#skipGroup(tag, groupsLeft);
        return;
      case fixed32:
        this.#take(4);
        return;
      default:
        this.#fail('a group ends that did not begin');
    }
  }

  /** Of any length: it is not looked at. */
  #skipVarint(): void {
    let at = this.#position;
    while ((this.#bytes[at] ?? 0) >= continues) at += 1;
    this.#moveTo(at + 1, 0);
  }

  #skipGroup(tag: number, groupsLeft: number): void {
    if (groupsLeft <= 0) this.#fail(`more than ${depthMax} levels are nested`);
    const endTag = ((tag & ~wireTypeMask) | endGroup) >>> 0;
    for (;;) {
      this.field();
      if (this.#tag === endTag) return;
      this.#skip(this.#tag, groupsLeft - 1);
    }
  }

  /** A tag of five bytes has room for 35 bits, and only 32 may be used. */
  #checkLongTag(start: number): void {
    const isLonger = this.#position - start > tagBytesMax;
    const last = this.#bytes[this.#position - 1] ?? 0;
    if (isLonger || last > 0x0f) this.#fail('a tag is above 32 bits');
  }

  /** Returns what was read on the way, unless the way led out of the bytes. */
  #moveTo(position: number, value: number): number {
    if (position > this.#bytes.length) this.#fail('it ends inside a field');
    this.#position = position;
    return value;
  }

  /** Passes over so many bytes and returns where they begin. */
  #take(bytesCount: number): number {
    const start = this.#position;
    return this.#moveTo(start + bytesCount, start);
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
