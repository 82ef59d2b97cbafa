// What names who asks, and its bytes. Hot: a key that is ASCII is encoded without allocation.
import { isUint8Array } from 'node:util/types';
import { fairLimits } from './limits.js';

/** A tenant, an account, an address. Text is hashed as UTF-8. */
export type FlowKey = string | Uint8Array;

const UNITS_MAX = fairLimits.keyUnitsHashedMax.value;
const UTF8_BYTES_PER_UNIT_MAX = 3;

/** Has the getters of all typed arrays. */
const TYPED_ARRAY = Object.getPrototypeOf(Uint8Array.prototype) as object;

/**
 * Callers may hand in anything at run time; what is no key becomes the empty one, which is not tracked. Bytes
 * become a plain view of them: a subclass could lie about its length, or throw. Never throws.
 */
export function plainKey(key: unknown): FlowKey {
  if (typeof key === 'string') return key;
  if (!isUint8Array(key)) return '';
  const bytesCount = Reflect.get(TYPED_ARRAY, 'byteLength', key) as number;
  if (bytesCount === 0) return '';
  const buffer = Reflect.get(TYPED_ARRAY, 'buffer', key) as ArrayBufferLike;
  return new Uint8Array(buffer, Reflect.get(TYPED_ARRAY, 'byteOffset', key) as number, bytesCount);
}

/** Holds the hashed part of one key at a time. */
export class KeyBytes {
  readonly bytes = new Uint8Array(UNITS_MAX * UTF8_BYTES_PER_UNIT_MAX);
  readonly view = new DataView(this.bytes.buffer);
  length = 0;
  readonly #encoder = new TextEncoder();

  take(key: FlowKey): void {
    const unitsCount = Math.min(key.length, UNITS_MAX);
    if (typeof key !== 'string') {
      this.bytes.set(key.length > UNITS_MAX ? key.subarray(0, UNITS_MAX) : key);
      this.length = unitsCount;
    } else if (this.#takeAscii(key, unitsCount)) {
      this.length = unitsCount;
    } else {
      this.length = this.#encoder.encodeInto(key.slice(0, unitsCount), this.bytes).written;
    }
  }

  /** Four units at a time; false if they are not all ASCII. */
  #takeAscii(key: string, unitsCount: number): boolean {
    const { view } = this;
    let all = 0;
    let at = 0;
    for (; at + 4 <= unitsCount; at += 4) {
      const first = key.charCodeAt(at);
      const second = key.charCodeAt(at + 1);
      const third = key.charCodeAt(at + 2);
      const fourth = key.charCodeAt(at + 3);
      all |= first | second | third | fourth;
      view.setInt32(at, first | (second << 8) | (third << 16) | (fourth << 24), true);
    }
    for (; at < unitsCount; at += 1) {
      const unit = key.charCodeAt(at);
      all |= unit;
      view.setUint8(at, unit);
    }
    return all <= 0x7f;
  }
}
