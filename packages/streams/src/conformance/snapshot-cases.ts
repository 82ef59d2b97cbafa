// Snapshots: what they contain, and that equal states give equal bytes.
//
// X4   restore ∘ snapshot is the identity, and equal states give equal bytes.
// X22  A snapshot contains the content at the time of the call.
import assert from 'node:assert/strict';
import { randomBelow } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { streamsLimits } from '../limits.js';
import { stringCodec } from '../state/codec.js';
import type { Key } from '../state/key.js';
import { aggregate } from '../state/state-backend.js';
import { counts, increment, mixedKeys, texts } from './state-samples.js';
import type { Cases, StateStoreSubject } from './state-store-subject.js';

export const snapshotCases: Cases = {
  'X4 a restored state is the one of the snapshot, tombstones included': roundTrip,
  'X4 an empty state has a snapshot, which empties another one': emptyState,
  'X4 equal states give equal bytes, whatever order and history they come from': equalStates,
  'X4 states of many blocks, and values larger than a block, come back': manyBlocks,
  'X22 writes after the call are not in the snapshot': fixedContent,
  'X22 snapshots that overlap each hold their own moment': overlapping,
  'a snapshot of some keys contains those that exist, each once': someKeys,
  'taking a snapshot changes nothing': unchanged,
};

/** More than are encoded in one slice. */
const MANY = 3 * streamsLimits.sliceEntriesMax.value;

async function roundTrip({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', texts);
  const copy = await store.open('copy', texts);
  for (const [index, key] of mixedKeys.entries()) state.put(key, `value ${index}`, index);
  state.delete('gone', 7);
  copy.put('other', 'to be replaced', 1);
  const snapshot = await state.snapshot();
  await copy.restore(snapshot);
  for (const key of mixedKeys) assert.deepEqual(copy.get(key), state.get(key), String(key));
  assert.equal(copy.get('other'), undefined);
  assert.equal(copy.put('gone', 'late', 6), 'older');
  assert.deepEqual(await copy.snapshot(), snapshot);
  assert.equal(copy.prune(7), 1);
}

async function emptyState({ store }: StateStoreSubject): Promise<void> {
  const empty = await store.open('empty', counts);
  const state = await store.open('s', counts);
  for (const key of mixedKeys) state.update(key, increment);
  await state.restore(await empty.snapshot());
  for (const key of mixedKeys) assert.equal(state.get(key), undefined);
  assert.deepEqual(await state.snapshot(), await empty.snapshot());
}

async function equalStates({ store }: StateStoreSubject): Promise<void> {
  const random = createSeededRandom('equal-states');
  const plain = await store.open('plain', texts);
  for (const key of mixedKeys) plain.put(key, `value of ${key}`, 3);
  plain.delete('gone', 3);
  const eventful = await store.open('eventful', texts);
  const shuffled = [...mixedKeys];
  for (let index = shuffled.length - 1; index > 0; index -= 1) {
    const other = randomBelow(random, index + 1);
    [shuffled[index], shuffled[other]] = [shuffled[other] as Key, shuffled[index] as Key];
  }
  eventful.put('gone', 'once there', 1);
  for (const key of shuffled) {
    if (random.float() < 0.3) eventful.delete(key, 1);
    if (random.float() < 0.3) eventful.put(key, 'an earlier value', 2);
    if (random.float() < 0.02) await eventful.restore(await eventful.snapshot());
    eventful.put(key, `value of ${key}`, 3);
  }
  eventful.delete('pruned', 2);
  eventful.prune(2);
  eventful.delete('gone', 3);
  assert.deepEqual(await eventful.snapshot(), await plain.snapshot());
}

async function manyBlocks({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', aggregate(stringCodec));
  const blockBytes = streamsLimits.blockBytesMax.value;
  const sizes = [1, 100, blockBytes >> 2, blockBytes - 50, blockBytes, blockBytes * 3];
  for (let index = 0; index < 1_000; index += 1) {
    state.update(`small-${index}`, () => 'x'.repeat(index));
  }
  for (const [index, size] of sizes.entries()) state.update(index, () => 'y'.repeat(size));
  const snapshot = await state.snapshot();
  for (const [index] of sizes.entries()) state.update(index, () => undefined);
  await state.restore(snapshot);
  for (const [index, size] of sizes.entries()) assert.equal(state.get(index)?.length, size);
  for (let index = 0; index < 1_000; index += 1) {
    assert.equal(state.get(`small-${index}`)?.length, index);
  }
  assert.deepEqual(await state.snapshot(), snapshot);
}

async function fixedContent({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', counts);
  const other = await store.open('other', counts);
  for (let index = 0; index < MANY; index += 1) {
    state.update(index, increment);
    other.update(index, increment);
  }
  const before = await state.snapshot();
  const running = state.snapshot();
  for (let round = 0; round < 3; round += 1) {
    for (let index = round; index < MANY; index += 3) {
      state.update(index, (count = 0) => (index % 2 === 0 ? undefined : count + 1));
      state.update(`new-${index}`, increment);
    }
    await other.snapshot(); // lets the first one continue
  }
  assert.deepEqual(await running, before);
  assert.deepEqual([state.get(0), state.get(1), state.get('new-0')], [undefined, 2, 1]);
}

async function overlapping({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', counts);
  const copy = await store.open('copy', counts);
  const running: Promise<Uint8Array>[] = [];
  for (let round = 1; round <= 4; round += 1) {
    for (let index = 0; index < MANY; index += 1) state.update(index, increment);
    running.push(state.snapshot());
  }
  for (const [round, snapshot] of (await Promise.all(running)).entries()) {
    await copy.restore(snapshot);
    for (const index of [0, 1, MANY - 1]) assert.equal(copy.get(index), round + 1);
  }
}

async function someKeys({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', texts);
  const copy = await store.open('copy', texts);
  for (const key of mixedKeys) state.put(key, `value of ${key}`, 1);
  state.delete('gone', 1);
  const wanted = ['user-1', 42, 'gone', 'user-1', 'not there', 1n];
  const running = state.snapshotForKeys(wanted);
  state.put('user-1', 'newer', 2);
  await copy.restoreKeys(await running);
  assert.deepEqual(copy.get('user-1'), { value: 'value of user-1', version: 1 });
  assert.equal(copy.get(42)?.value, 'value of 42');
  assert.equal(copy.get(1n)?.value, 'value of 1');
  assert.deepEqual([copy.get(1), copy.get('not there')], [undefined, undefined]);
  assert.equal(copy.put('gone', 'late', 0), 'older');
  const reversed = wanted.toReversed();
  assert.deepEqual(await copy.snapshotForKeys(reversed), await copy.snapshotForKeys(wanted));
}

async function unchanged({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', texts);
  for (const key of mixedKeys) state.put(key, `value of ${key}`, 1);
  const first = await state.snapshot();
  await state.snapshotForKeys(mixedKeys);
  assert.deepEqual(await state.snapshot(), first);
  for (const key of mixedKeys) assert.equal(state.get(key)?.value, `value of ${key}`);
}
