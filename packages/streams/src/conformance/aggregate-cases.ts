// Aggregate state: a value per key, changed by a function of the current one.
import assert from 'node:assert/strict';
import { jsonCodec } from '../state/json-codec.js';
import { aggregate } from '../state/state-backend.js';
import { counts, increment, mixedKeys } from './state-samples.js';
import type { Cases, StateStoreSubject } from './state-store-subject.js';

export const aggregateCases: Cases = {
  'update sets what the function returns, and undefined removes the key': updates,
  'an update whose function throws changes nothing': throwing,
  'X1 keys of different kinds are counted separately': differentKeys,
  'a removed key can be counted again, and is not in a snapshot': removed,
};

async function updates({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', counts);
  assert.equal(state.get('a'), undefined);
  assert.equal(state.update('a', increment), 1);
  assert.equal(state.update('a', increment), 2);
  assert.equal(state.get('a'), 2);
  assert.equal(
    state.update('a', () => undefined),
    undefined,
  );
  assert.equal(state.get('a'), undefined);
  assert.equal(
    state.update('b', () => undefined),
    undefined,
  );
  assert.equal(state.update('a', increment), 1);
}

async function throwing({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', counts);
  const fail = () => {
    throw new RangeError('not today');
  };
  assert.throws(() => state.update('a', fail), RangeError);
  state.update('a', increment);
  assert.throws(() => state.update('a', fail), RangeError);
  assert.equal(state.get('a'), 1);
}

async function differentKeys({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', counts);
  for (let round = 1; round <= 3; round += 1) {
    for (const key of mixedKeys) assert.equal(state.update(key, increment), round, String(key));
  }
  for (const key of mixedKeys) assert.equal(state.get(key), 3, String(key));
}

async function removed({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', aggregate(jsonCodec<readonly number[]>()));
  const empty = await state.snapshot();
  for (const key of mixedKeys) state.update(key, (list = []) => [...list, 1]);
  for (const key of mixedKeys) state.update(key, () => undefined);
  assert.deepEqual(await state.snapshot(), empty);
  assert.deepEqual(
    state.update('a', (list = []) => [...list, 2]),
    [2],
  );
}
