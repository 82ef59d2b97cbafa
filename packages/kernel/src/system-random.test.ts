import { describe, it } from 'vitest';
import { randomSuite } from './conformance/random-suite.js';
import { createSystemRandom } from './system-random.js';

describe('the system random source', () => {
  for (const { name, run } of randomSuite(async () => ({
    random: createSystemRandom(),
    other: createSystemRandom(),
    async [Symbol.asyncDispose]() {},
  })))
    it(name, run);
});
