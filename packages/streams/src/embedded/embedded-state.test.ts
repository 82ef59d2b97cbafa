import { createMemoryStorage } from '@syncline/kernel';
import { describe, test } from 'vitest';
import { stateStoreSuite } from '../conformance/state-store-suite.js';
import { type EmbeddedStateOptions, embeddedState } from './embedded-state.js';

function suiteWith(options: EmbeddedStateOptions): void {
  const create = async () => {
    const storage = createMemoryStorage();
    let store = embeddedState(storage, options);
    return {
      store,
      async reopen() {
        await store.flush();
        store = embeddedState(storage, options);
        return store;
      },
      [Symbol.asyncDispose]: () => storage.close(),
    };
  };
  for (const { name, run } of stateStoreSuite(create, { isPersistent: true })) test(name, run);
}

describe('X14 the embedded backend is a state store', () => {
  suiteWith({});
});
