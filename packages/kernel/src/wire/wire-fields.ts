// The fields of one message, for protocols that are stricter than Protobuf: an unknown field is refused, and so is
// one that occurs twice. A message that is only half understood must not be acted on; a new field needs a new version
// of the protocol.
import { isUtf8, WireReader, wireTypes } from './wire-reader.js';

const none = new Uint8Array(0);

/** A letter per field, from number 1 on: n number, w word of 32 bits, b bytes, r bytes that may be repeated. */
export type FieldShape = string;

const wireTypeOf: Readonly<Record<string, number>> = {
  n: wireTypes.varint,
  w: wireTypes.fixed32,
  b: wireTypes.delimited,
  r: wireTypes.delimited,
};

/** Absent fields have the default value. Bytes are views of the message. */
export class WireFields {
  /** The values of the field that may be repeated. */
  readonly repeated: Uint8Array[] = [];
  readonly #reader: WireReader;
  readonly #numbers: number[] = [];
  readonly #bytes: (Uint8Array | undefined)[] = [];

  /** `what` is the name of the message in errors. */
  constructor(what: string, body: Uint8Array, shape: FieldShape, repeatedMax = 0) {
    const reader = new WireReader(what, body);
    this.#reader = reader;
    let seen = 0;
    while (!reader.isAtEnd) {
      const tag = reader.uint32();
      const field = tag >>> 3;
      const letter = shape[field - 1] ?? '';
      if ((tag & 7) !== wireTypeOf[letter]) reader.fail(`field tag ${tag} is unknown`);
      if (letter !== 'r' && (seen & (1 << field)) !== 0)
        reader.fail(`field ${field} appears twice`);
      seen |= 1 << field;
      if (letter === 'n') this.#numbers[field] = reader.uint32();
      else if (letter === 'w') this.#numbers[field] = reader.fixed32();
      else if (letter === 'b') this.#bytes[field] = reader.delimited();
      else if (this.repeated.push(reader.delimited()) > repeatedMax)
        reader.fail(`field ${field} appears more than ${repeatedMax} times`);
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
    if (bytes.length > bytesMax)
      this.fail(`a string has ${bytes.length} bytes; at most ${bytesMax} are allowed`);
    if (!isUtf8(bytes)) this.fail('a string is not valid UTF-8');
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  }

  fail(why: string): never {
    return this.#reader.fail(why);
  }
}
