import { describe, expect, it } from 'vitest';
import { randomSuite } from './conformance/random-suite.js';
import { createSystemRandom } from './system-random.js';

describe('the system random source', () => {
  for (const { name, run } of randomSuite(async () => ({
    random: createSystemRandom(),
    async [Symbol.asyncDispose]() {},
  })))
    it(name, run);

  it('each one has a seed of its own', () => {
    const draw = () => {
      const random = createSystemRandom();
      return [random.u32(), random.u32(), random.u32(), random.u32()].join();
    };
    expect(draw()).not.toBe(draw());
  });
});
