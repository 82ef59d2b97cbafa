// Reads the protobuf wire format field by field, without an object per field.
//
// A known field must have the wire type of the contract: read as another one, its bytes would become values that
// nobody sent. Fields that the contract does not know are passed over, so that a newer sender can say more. What is
// malformed throws `invalid-argument`.
import { isUtf8 } from 'node:buffer';
import { SynclineError } from '@syncline/kernel';

const VARINT = 0;
const FIXED64 = 1;
const DELIMITED = 2;
const FIXED32 = 5;

const VARINT_BYTES_MAX = 10;
const UINT32_MAX = 4_294_967_295;

export class ProtoReader {
  /** The job of all states in the message: they do not name it. */
  readonly jobId: string;
  readonly #message: string;
  readonly #bytes: Buffer;
  #at = 0;
  #end: number;
  #wireType = VARINT;

  /** `message` is what errors call the whole. */
  constructor(message: string, bytes: Uint8Array, jobId = '') {
    this.jobId = jobId;
    this.#message = message;
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#end = bytes.length;
  }

  /** The number of the next field; 0 at the end of the message. */
  field(): number {
    if (this.#at >= this.#end) return 0;
    const tag = this.#varint();
    this.#wireType = tag & 7;
    const number = Math.floor(tag / 8);
    return number === 0 ? this.fail('a field has number 0') : number;
  }

  /** Enters the message that the field holds; hand what it returns to `leave` at its end. */
  enter(): number {
    this.#expect(DELIMITED);
    const length = this.#length();
    const outerEnd = this.#end;
    this.#end = this.#at + length;
    return outerEnd;
  }

  leave(outerEnd: number): void {
    this.#end = outerEnd;
  }

  /** The message that the field holds, not read yet. Its bytes are those of the whole, not a copy. */
  message(): Uint8Array {
    this.#expect(DELIMITED);
    const length = this.#length();
    const start = this.#at;
    this.#at += length;
    return this.#bytes.subarray(start, this.#at);
  }

  /** A uint64. What is above 2^53 - 1 is refused: the contract says that there is none. */
  uint(): number {
    this.#expect(VARINT);
    return this.#varint();
  }

  /** An int32 in zigzag. `field` is what errors call it. */
  sint(field?: string): number {
    const value = this.uint();
    if (value > UINT32_MAX) return this.fail('a number is not an int32', field);
    return (value >>> 1) ^ -(value & 1);
  }

  double(): number {
    this.#expect(FIXED64);
    const start = this.#at;
    this.#pass(8);
    return this.#bytes.readDoubleLE(start);
  }

  bool(): boolean {
    return this.uint() !== 0;
  }

  text(): string {
    this.#expect(DELIMITED);
    const length = this.#length();
    const start = this.#at;
    this.#at += length;
    const text = this.#bytes.toString('utf8', start, this.#at);
    // Only what is replaced can have been wrong, and it is rare.
    if (text.includes('\ufffd') && !isUtf8(this.#bytes.subarray(start, this.#at)))
      return this.fail('a text is not UTF-8');
    return text;
  }

  /** Passes over the field whose number was just read. */
  skip(): void {
    switch (this.#wireType) {
      case VARINT:
        while (this.#byte() >= 0x80);
        return;
      case FIXED64:
        this.#pass(8);
        return;
      case DELIMITED:
        this.#pass(this.#length());
        return;
      case FIXED32:
        this.#pass(4);
        return;
      default:
        this.fail(`a field has wire type ${this.#wireType}`);
    }
  }

  fail(why: string, field = this.#message): never {
    throw new SynclineError(
      'invalid-argument',
      `malformed ${this.#message}: ${why}, at byte ${this.#at} of ${this.#bytes.length}. Is the sender built from another contract?`,
      { details: { field, reason: why } },
    );
  }

  #expect(wireType: number): void {
    if (this.#wireType !== wireType)
      this.fail(`a field has wire type ${this.#wireType}, not ${wireType}`);
  }

  #varint(): number {
    let value = 0;
    let unit = 1;
    for (let count = 0; count < VARINT_BYTES_MAX; count += 1) {
      const byte = this.#byte();
      value += (byte & 0x7f) * unit;
      if (byte < 0x80)
        return value <= Number.MAX_SAFE_INTEGER ? value : this.fail('a number is above 2^53 - 1');
      unit *= 0x80;
    }
    return this.fail('a number has more than 10 bytes');
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined || this.#at >= this.#end) return this.fail('it ends inside a field');
    this.#at += 1;
    return byte;
  }

  /** Of what follows, which must lie within the message. */
  #length(): number {
    const length = this.#varint();
    return length <= this.#end - this.#at ? length : this.fail('a length leads out of it');
  }

  #pass(bytesCount: number): void {
    if (bytesCount > this.#end - this.#at) this.fail('it ends inside a field');
    this.#at += bytesCount;
  }
}
