// What names who asks, and its bytes. Hot: a key that is ASCII is encoded without allocation.
import { fairLimits } from './limits.js';

/** A tenant, an account, an address. Text is hashed as UTF-8. */
export type FlowKey = string | Uint8Array;

const UNITS_MAX = fairLimits.keyUnitsHashedMax.value;
const UTF8_BYTES_PER_UNIT_MAX = 3;

/** Callers may hand in anything at run time; what is no key, or an empty one, is not tracked. */
export function isTrackable(key: unknown): key is FlowKey {
  return typeof key === 'string' ? key.length > 0 : key instanceof Uint8Array && key.length > 0;
}

/** Holds the hashed part of one key at a time. */
export class KeyBytes {
  bytes: Uint8Array;
  length = 0;
  readonly #encoded = new Uint8Array(UNITS_MAX * UTF8_BYTES_PER_UNIT_MAX);
  readonly #encoder = new TextEncoder();

  constructor() {
    this.bytes = this.#encoded;
  }

  take(key: FlowKey): void {
    const unitsCount = Math.min(key.length, UNITS_MAX);
    if (typeof key !== 'string') {
      this.bytes = key;
      this.length = unitsCount;
      return;
    }
    const encoded = this.#encoded;
    this.bytes = encoded;
    for (let index = 0; index < unitsCount; index += 1) {
      const unit = key.charCodeAt(index);
      if (unit > 0x7f) {
        this.length = this.#encoder.encodeInto(key.slice(0, unitsCount), encoded).written;
        return;
      }
      encoded[index] = unit;
    }
    this.length = unitsCount;
  }
}
