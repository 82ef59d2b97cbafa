// Codecs, which encode the values of a state as bytes, and the built-in ones.
//
// Each entry is stored with the version of the codec that wrote it. A newer codec reads the old bytes with
// `decode(bytes, version)` and writes the new form when the entry next changes, so a schema can evolve without
// rewriting the state. Two values are equal if their bytes are equal, so `encode` must be deterministic.
//
// X6  A codec returns every value that it accepts unchanged, and rejects all others as `bad-record`.
import { streamsLimits } from '../limits.js';
import { ByteReader } from '../snapshot/byte-reader.js';
import { isWellFormed, kindOf } from './key.js';
import { badRecord, limitExceeded } from './state-error.js';

export interface Codec<V> {
  /** Stored with the data. Data written by another codec is rejected as `incompatible`. */
  readonly id: string;
  /** A positive integer. Data of a higher version is rejected as `too-new`. */
  readonly version: number;
  /** Deterministic: equal values give equal bytes. The bytes are copied, so a buffer may be reused. */
  encode(value: V): Uint8Array;
  /** `version` is that of the codec that wrote the bytes. They are only valid during the call. */
  decode(bytes: Uint8Array, version: number): V;
  /**
   * Throws if the value cannot be encoded. Called on every write, so it must be cheap. Without it, a bad value is only
   * detected when the state is next encoded, long after the record that caused it.
   */
  check?(value: V): void;
  /**
   * Returns the value as `decode` would return it, or throws like `check`. Called on every write, so that the output
   * of a pipeline does not depend on whether its state was restored. Without it, values are kept as they are.
   */
  normalise?(value: V): V;
}

const scratch = new DataView(new ArrayBuffer(8));
const scratchBytes = new Uint8Array(scratch.buffer);

/** Any number, including NaN and -0, in 8 bytes. */
export const numberCodec: Codec<number> = {
  id: 'number',
  version: 1,
  encode(value) {
    if (typeof value !== 'number') throw wrongType('number', value);
    scratch.setFloat64(0, Number.isNaN(value) ? Number.NaN : value); // NaN has many bit patterns
    return scratchBytes;
  },
  decode(bytes) {
    if (bytes.length !== 8) new ByteReader('number', bytes).fail('8 bytes', String(bytes.length));
    scratchBytes.set(bytes);
    return scratch.getFloat64(0);
  },
  check(value) {
    if (typeof value !== 'number') throw wrongType('number', value);
  },
};

/** Any bigint: a sign byte, then the magnitude without leading zeros. */
export const bigintCodec: Codec<bigint> = {
  id: 'bigint',
  version: 1,
  encode(value) {
    this.check?.(value);
    const magnitude = value < 0n ? -value : value;
    const digits = magnitude === 0n ? '' : magnitude.toString(16);
    const sign = value < 0n ? '00' : '01';
    return Buffer.from(`${sign}${digits.length % 2 === 0 ? '' : '0'}${digits}`, 'hex');
  },
  decode(bytes) {
    const reader = new ByteReader('bigint', bytes);
    const sign = reader.u8();
    if (sign > 1) reader.fail('sign 0 or 1', String(sign), 0);
    const magnitude = BigInt(`0x0${Buffer.from(reader.bytes(reader.left)).toString('hex')}`);
    return sign === 1 ? magnitude : -magnitude;
  },
  check(value) {
    if (typeof value !== 'bigint') throw wrongType('bigint', value);
  },
};

/** Well-formed text in UTF-8. */
export const stringCodec: Codec<string> = {
  id: 'string',
  version: 1,
  encode(value) {
    this.check?.(value);
    return Buffer.from(value, 'utf8');
  },
  decode(bytes) {
    return new ByteReader('string', bytes).utf8(bytes.length);
  },
  check(value) {
    if (typeof value !== 'string') throw wrongType('string', value);
    if (!isWellFormed(value)) throw badRecord('the string has a lone surrogate');
    checkLength(value.length);
  },
};

export const bytesCodec: Codec<Uint8Array> = {
  id: 'bytes',
  version: 1,
  encode(value) {
    this.check?.(value);
    return value;
  },
  decode(bytes) {
    return Uint8Array.from(bytes);
  },
  check(value) {
    if (!(value instanceof Uint8Array)) throw wrongType('Uint8Array', value);
    checkLength(value.length);
  },
};

/** `bytes` is a lower bound of the encoded size. */
export function checkLength(bytes: number, bytesMax = streamsLimits.valueBytesMax.value): void {
  if (bytes <= bytesMax) return;
  throw limitExceeded(
    'valueBytesMax',
    `the value takes ${bytes} bytes or more, above the limit of ${bytesMax}`,
  );
}

function wrongType(expected: string, value: unknown): Error {
  return badRecord(`the value must be a ${expected}, not ${kindOf(value)}`);
}
