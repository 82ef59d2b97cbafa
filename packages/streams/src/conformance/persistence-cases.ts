// What a persistent store keeps across a restart, and what it refuses to open as something else.
import assert from 'node:assert/strict';
import { stringCodec } from '../state/codec.js';
import { aggregate, versioned } from '../state/state-backend.js';
import { counts, increment, labelledCodec, mixedKeys, texts } from './state-samples.js';
import type { Cases, StateStoreSubject } from './state-store-subject.js';

export const persistenceCases: Cases = {
  'X23 everything is there after a restart, tombstones included': restarts,
  'X23 a removed key and a pruned tombstone are gone after a restart': removals,
  'X23 a restored snapshot is there after a restart': restored,
  'a state cannot be opened as another kind, version kind or codec': incompatibleStates,
  'an older codec version is read after a restart, a newer one refused': codecVersions,
};

async function restarts(subject: StateStoreSubject): Promise<void> {
  const newest = await subject.store.open('newest', texts);
  const totals = await subject.store.open('totals', counts);
  for (const [index, key] of mixedKeys.entries()) {
    newest.put(key, `value of ${key}`, index);
    totals.update(key, () => index);
  }
  newest.delete('gone', 7);
  const snapshots = [await newest.snapshot(), await totals.snapshot()];
  const store = await reopen(subject);
  const newestAgain = await store.open('newest', texts);
  const totalsAgain = await store.open('totals', counts);
  for (const [index, key] of mixedKeys.entries()) {
    assert.deepEqual(newestAgain.get(key), { value: `value of ${key}`, version: index });
    assert.equal(totalsAgain.get(key), index);
  }
  assert.equal(newestAgain.put('gone', 'late', 6), 'older');
  assert.deepEqual([await newestAgain.snapshot(), await totalsAgain.snapshot()], snapshots);
  assert.equal(newestAgain.prune(7), 1);
}

async function removals(subject: StateStoreSubject): Promise<void> {
  const newest = await subject.store.open('newest', texts);
  const totals = await subject.store.open('totals', counts);
  for (const key of mixedKeys) {
    newest.delete(key, 1);
    totals.update(key, increment);
  }
  const between = await reopen(subject);
  const newestBetween = await between.open('newest', texts);
  const totalsBetween = await between.open('totals', counts);
  assert.equal(newestBetween.prune(1), mixedKeys.length);
  for (const key of mixedKeys) totalsBetween.update(key, () => undefined);
  totalsBetween.update('a', increment);
  const after = await reopen(subject);
  const newestAfter = await after.open('newest', texts);
  const totalsAfter = await after.open('totals', counts);
  assert.equal(newestAfter.prune(1), 0);
  for (const key of mixedKeys) {
    assert.equal(newestAfter.put(key, 'back', 0), 'applied');
    assert.equal(totalsAfter.get(key), undefined);
  }
  assert.equal(totalsAfter.get('a'), 1);
}

async function restored(subject: StateStoreSubject): Promise<void> {
  const source = await subject.store.open('source', texts);
  const state = await subject.store.open('s', texts);
  for (const key of mixedKeys) source.put(key, `value of ${key}`, 1);
  source.delete('gone', 1);
  state.put('other', 'to be replaced', 9);
  state.delete('other-gone', 9);
  const snapshot = await source.snapshot();
  await state.restore(snapshot);
  state.put('later', 'value', 1);
  const store = await reopen(subject);
  const again = await store.open('s', texts);
  assert.equal(again.get('later')?.value, 'value');
  assert.equal(again.get('other'), undefined);
  for (const key of mixedKeys) assert.equal(again.get(key)?.value, `value of ${key}`);
  assert.equal(again.prune(9), 1, 'the tombstone of the snapshot and no other');
}

async function incompatibleStates(subject: StateStoreSubject): Promise<void> {
  const state = await subject.store.open('s', texts);
  state.put('a', 'value', 1);
  const store = await reopen(subject);
  const refused = { code: 'incompatible' };
  await assert.rejects(store.open('s', aggregate(stringCodec)), refused);
  await assert.rejects(store.open('s', versioned(stringCodec, 'bigint')), refused);
  await assert.rejects(store.open('s', versioned(labelledCodec(1), 'number')), refused);
  assert.equal((await store.open('s', texts)).get('a')?.value, 'value');
}

async function codecVersions(subject: StateStoreSubject): Promise<void> {
  const old = await subject.store.open('s', versioned(labelledCodec(1), 'number'));
  for (const key of mixedKeys) old.put(key, `value of ${key}`, 1);
  const between = await reopen(subject);
  const state = await between.open('s', versioned(labelledCodec(2), 'number'));
  assert.equal(state.get('user-1')?.value, 'value of user-1');
  const direct = await between.open('direct', versioned(labelledCodec(2), 'number'));
  for (const key of mixedKeys) direct.put(key, `value of ${key}`, 1);
  assert.deepEqual(await state.snapshot(), await direct.snapshot());
  state.put('user-1', 'new', 2);
  const after = await reopen(subject);
  const refused = { code: 'too-new', details: { found: 2, supported: 1 } };
  await assert.rejects(after.open('s', versioned(labelledCodec(1), 'number')), refused);
  const again = await after.open('s', versioned(labelledCodec(2), 'number'));
  assert.equal(again.get('user-1')?.value, 'new');
  assert.equal(again.get(42)?.value, 'value of 42');
}

async function reopen(subject: StateStoreSubject) {
  assert.ok(subject.reopen, 'a persistent store can be reopened');
  return subject.reopen();
}
