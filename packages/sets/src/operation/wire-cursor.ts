// Walks over the fields of a Protobuf message, without an object per field, and never beyond its end.
//
// It is stricter than Protobuf: a field that its caller does not know is refused, and so is one that comes
// twice where one is meant. An operation that is only half understood must not be applied, since nodes would
// then differ for good; a new field needs a new version of the protocol.
import { SynclineError } from '@syncline/kernel';

/** `corrupt` for what was stored here, `invalid-argument` for what somebody sent. */
export type DecodeFailure = 'corrupt' | 'invalid-argument';

const causes = {
  corrupt: 'the journal is damaged, or another version has written it',
  'invalid-argument': 'the sender may be of another version',
} as const satisfies Record<DecodeFailure, string>;

const varintBytesMax = 5;
const wordEnd = 2 ** 32;

export class WireCursor {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly #failure: DecodeFailure;
  readonly #what: string;
  /** The next byte to read. */
  position = 0;

  /** `what` names the message in errors. */
  constructor(bytes: Uint8Array, failure: DecodeFailure, what = 'operation') {
    this.#what = what;
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#failure = failure;
  }

  /** A number below 2^32 that lies before `end`. */
  varint(end: number): number {
    let value = 0;
    let scale = 1;
    for (let length = 1; length <= varintBytesMax; length += 1) {
      if (this.position >= end) return this.fail('a number goes beyond the end');
      const byte = this.bytes[this.position] ?? 0;
      this.position += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80)
        return value < wordEnd ? value : this.fail('a number takes more than 32 bits');
      scale *= 0x80;
    }
    return this.fail('a number takes more than 5 bytes');
  }

  /** Reads a length and gives where that many bytes end; not behind `end`. */
  lengthEnd(end: number): number {
    const length = this.varint(end);
    if (length > end - this.position) {
      this.fail(`a field of ${length} bytes goes beyond the end of what it is part of`);
    }
    return this.position + length;
  }

  fail(why: string, cause?: unknown): never {
    throw new SynclineError(
      this.#failure,
      `malformed ${this.#what}: ${why}, near byte ${this.position} of ${this.bytes.length}; ${causes[this.#failure]}`,
      { details: { byte: this.position }, cause },
    );
  }
}
