// The embedded backend on a real LevelDB.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSystemClock, silentLogger } from '@syncline/kernel';
import { openLevelStorage } from '@syncline/kernel/level';
import { describe, expect, test } from 'vitest';
import { stateStoreSuite } from '../conformance/state-store-suite.js';
import { stringCodec } from '../state/codec.js';
import { aggregate } from '../state/state-backend.js';
import { embeddedState } from './embedded-state.js';

const deps = { clock: createSystemClock(), logger: silentLogger };

async function createOnLevel(cacheBytesMax?: number) {
  const directory = await mkdtemp(join(tmpdir(), 'syncline-streams-'));
  const options = cacheBytesMax === undefined ? {} : { cacheBytesMax };
  let storage = await openLevelStorage(deps, { directory });
  let store = embeddedState(storage, options);
  return {
    store,
    async reopen() {
      await store.flush();
      await storage.close();
      storage = await openLevelStorage(deps, { directory });
      store = embeddedState(storage, options);
      return store;
    },
    async [Symbol.asyncDispose]() {
      await storage.close();
      await rm(directory, { recursive: true });
    },
  };
}

describe('X14 the embedded backend on LevelDB is a state store', () => {
  const suite = stateStoreSuite(() => createOnLevel(), { isPersistent: true });
  for (const { name, run } of suite) test(name, run);
});

test('X25 a state much larger than its cache is written, read and restored', async () => {
  const cacheBytesMax = 2 * 1024 * 1024;
  await using subject = await createOnLevel(cacheBytesMax);
  const state = await subject.store.open('s', aggregate(stringCodec));
  const textOf = (key: number) => `${key} `.repeat(100);
  const KEYS = 20_000; // about 11 MB
  for (let key = 0; key < KEYS; key += 1) {
    state.update(key, () => textOf(key));
    if (key % 500 === 499) await subject.store.flush();
  }
  const snapshot = await state.snapshot();
  expect(snapshot.length).toBeGreaterThan(4 * cacheBytesMax);
  const reopened = await subject.reopen();
  const again = await reopened.open('s', aggregate(stringCodec));
  for (let key = 0; key < KEYS; key += 97) expect(again.get(key)).toBe(textOf(key));
  const copy = await reopened.open('copy', aggregate(stringCodec));
  await copy.restore(snapshot);
  expect(Buffer.compare(await copy.snapshot(), snapshot)).toBe(0);
  for (let key = 0; key < KEYS; key += 89) expect(copy.get(key)).toBe(textOf(key));
});
