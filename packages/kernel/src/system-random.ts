// Real randomness: fast numbers from a generator that the system has seeded, bytes from the system.
import type { Random } from './random.js';
import { createSeededRandom } from './seeded-random.js';

/** The most that one call of `getRandomValues` can fill. */
const CALL_BYTES_MAX = 65_536;
/** A call takes as long for many bytes as for an id. */
const POOL_BYTES = 4_096;
const POOLED_BYTES_MAX = 64;

export function createSystemRandom(): Random {
  const fast = createSeededRandom(fromSystem(16).join());
  let pool = new Uint8Array(0);
  let used = 0;
  return {
    u32: () => fast.u32(),
    float: () => fast.float(),
    bytes(count) {
      if (count > POOLED_BYTES_MAX) return fromSystem(count);
      if (used + count > pool.length) {
        pool = fromSystem(POOL_BYTES);
        used = 0;
      }
      used += count;
      return pool.slice(used - count, used);
    },
  };
}

function fromSystem(count: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(count);
  for (let start = 0; start < count; start += CALL_BYTES_MAX) {
    crypto.getRandomValues(bytes.subarray(start, start + CALL_BYTES_MAX));
  }
  return bytes;
}
