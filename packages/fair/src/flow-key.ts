// A flow key names the caller; this file converts it to bytes.
import { fairLimits } from './limits.js';

/** A tenant, an account, an address. Text is hashed as UTF-8. */
export type FlowKey = string | Uint8Array;

const UNITS_MAX = fairLimits.keyUnitsHashedMax.value;
const UTF8_BYTES_PER_UNIT_MAX = 3;

/** Has the getters of all typed arrays. */
const TYPED_ARRAY = Object.getPrototypeOf(Uint8Array.prototype) as object;

/**
 * Callers may pass anything at run time; a value that is not a key becomes the empty one, which is not tracked.
 * Bytes become a plain view: a subclass could lie about its length, or throw. Never throws.
 */
export function plainKey(key: unknown): FlowKey {
  if (typeof key === 'string') return key;
  // This getter returns the true kind of any value and never throws; `instanceof` can be fooled.
  if (Reflect.get(TYPED_ARRAY, Symbol.toStringTag, key) !== 'Uint8Array') return '';
  const bytesCount = Reflect.get(TYPED_ARRAY, 'byteLength', key) as number;
  if (bytesCount === 0) return '';
  const buffer = Reflect.get(TYPED_ARRAY, 'buffer', key) as ArrayBufferLike;
  return new Uint8Array(buffer, Reflect.get(TYPED_ARRAY, 'byteOffset', key) as number, bytesCount);
}

export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Holds the hashed part of one key at a time. */
export class KeyBytes {
  readonly bytes = new Uint8Array(UNITS_MAX * UTF8_BYTES_PER_UNIT_MAX);
  readonly view = new DataView(this.bytes.buffer);
  length = 0;
  readonly #encoder = new TextEncoder();

  take(key: FlowKey): void {
    if (typeof key !== 'string') {
      const part = key.length > UNITS_MAX ? key.subarray(0, UNITS_MAX) : key;
      this.bytes.set(part);
      this.length = part.length;
      return;
    }
    const part = key.length > UNITS_MAX ? key.slice(0, UNITS_MAX) : key;
    this.length = this.#encoder.encodeInto(part, this.bytes).written;
  }
}
