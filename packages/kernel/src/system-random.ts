// Real randomness: fast numbers from a generator that the system has seeded, bytes from the system.
import { randomBytes, randomFillSync } from 'node:crypto';
import type { Random } from './random.js';
import { createSeededRandom } from './seeded-random.js';

export function createSystemRandom(): Random {
  const fast = createSeededRandom(randomBytes(16).toString('hex'));
  return {
    u32: () => fast.u32(),
    float: () => fast.float(),
    bytes: (count) => randomFillSync(new Uint8Array(count)),
  };
}
