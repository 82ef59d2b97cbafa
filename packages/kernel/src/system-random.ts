// Real randomness: fast numbers from a generator that the system has seeded, bytes from the system.
import type { Random } from './random.js';
import { createSeededRandom } from './seeded-random.js';

/** The most that one call of `getRandomValues` can fill. */
const CALL_BYTES_MAX = 65_536;

export function createSystemRandom(): Random {
  const fast = createSeededRandom(fromSystem(16).join());
  return {
    u32: () => fast.u32(),
    float: () => fast.float(),
    bytes: fromSystem,
  };
}

function fromSystem(count: number): Uint8Array {
  const bytes = new Uint8Array(count);
  for (let start = 0; start < count; start += CALL_BYTES_MAX) {
    crypto.getRandomValues(bytes.subarray(start, start + CALL_BYTES_MAX));
  }
  return bytes;
}
