import { describe, test } from 'vitest';
import { stateStoreSuite } from '../conformance/state-store-suite.js';
import { memoryState } from './memory-state.js';

describe('X14 the memory backend is a state store', () => {
  const create = async () => ({ store: memoryState(), [Symbol.asyncDispose]: async () => {} });
  for (const { name, run } of stateStoreSuite(create, { isPersistent: false })) test(name, run);
});
