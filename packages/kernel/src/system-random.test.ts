import { describe, expect, it } from 'vitest';
import { randomSuite } from './conformance/random-suite.js';
import { createSystemRandom } from './system-random.js';

describe('the system random source', () => {
  for (const { name, run } of randomSuite(async () => ({
    random: createSystemRandom(),
    other: createSystemRandom(),
    async [Symbol.asyncDispose]() {},
  })))
    it(name, run);

  it('draws ids that all differ and stay as they are, beyond one request to the system', () => {
    const random = createSystemRandom();
    const ids = Array.from({ length: 1_000 }, () => random.bytes(16));
    const texts = ids.map(String);
    expect(new Set(texts).size).toBe(ids.length);
    expect(ids.map(String)).toEqual(texts);
    expect(ids.every((id) => id.buffer.byteLength === 16)).toBe(true);
  });
});
