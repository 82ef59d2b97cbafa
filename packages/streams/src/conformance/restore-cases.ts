// Restoring: all of it or nothing, merging by the tie rules, and data of other codecs and versions.
//
// X4  A refused restore changes nothing.
import assert from 'node:assert/strict';
import { numberCodec, stringCodec } from '../state/codec.js';
import { aggregate, type StateDescription, versioned } from '../state/state-backend.js';
import { counts, increment, labelledCodec, mixedKeys, texts } from './state-samples.js';
import type { Cases, StateStoreSubject } from './state-store-subject.js';

export const restoreCases: Cases = {
  'X4 a damaged snapshot is refused with its offset, and nothing changes': damaged,
  'X4 a snapshot of another kind, version kind or codec is incompatible, and nothing changes':
    others,
  'X4 a snapshot of a newer format or codec is too new, and nothing changes': newer,
  'X4 a snapshot of some keys cannot replace a whole state': partial,
  'a snapshot of an older codec version is read, and written again as the new one': upgraded,
  'restoreKeys merges by the tie rules': merged,
  'X3 restoreKeys with one conflict changes nothing': conflicting,
  'restoreKeys adds keys to an aggregate, and refuses ones that exist': aggregates,
};

async function damaged({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', texts);
  for (const key of mixedKeys) state.put(key, `value of ${key}`, 1);
  const snapshot = await state.snapshot();
  state.put('user-1', 'newer', 2);
  const before = await state.snapshot();
  for (const at of [0, 20, 100, snapshot.length >> 1, snapshot.length - 1]) {
    const bytes = snapshot.slice();
    bytes[at] = (bytes[at] ?? 0) ^ 0x10;
    const isDamage = (thrown: { code: string; details: Record<string, unknown> }) =>
      thrown.code === 'corrupt' &&
      typeof thrown.details['offset'] === 'number' &&
      typeof thrown.details['expected'] === 'string' &&
      typeof thrown.details['found'] === 'string';
    await assert.rejects(state.restore(bytes), isDamage, `byte ${at}`);
    await assert.rejects(state.restoreKeys(bytes), isDamage, `byte ${at}`);
  }
  assert.deepEqual(await state.snapshot(), before);
}

async function others({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', versioned(labelledCodec(1), 'number'));
  state.put('a', 'here', 1);
  const before = await state.snapshot();
  const descriptions: readonly StateDescription[] = [
    aggregate(labelledCodec(1)),
    versioned(labelledCodec(1), 'bigint'),
    versioned(labelledCodec(1, 'other'), 'number'),
  ];
  for (const [index, description] of descriptions.entries()) {
    const other = await store.open(`other-${index}`, description);
    const snapshot = await other.snapshot();
    await assert.rejects(state.restore(snapshot), { code: 'incompatible' });
    await assert.rejects(state.restoreKeys(snapshot), { code: 'incompatible' });
  }
  assert.deepEqual(await state.snapshot(), before);
}

async function newer({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', versioned(labelledCodec(1), 'number'));
  state.put('a', 'here', 1);
  const before = await state.snapshot();
  const ahead = await store.open('ahead', versioned(labelledCodec(2), 'number'));
  ahead.put('a', 'there', 2);
  await assert.rejects(state.restore(await ahead.snapshot()), {
    code: 'too-new',
    details: { found: 2, supported: 1 },
  });
  const bytes = before.slice();
  new DataView(bytes.buffer).setUint16('SYNCSNAP'.length, 2);
  await assert.rejects(state.restore(bytes), {
    code: 'too-new',
    details: { found: 2, supported: 1 },
  });
  assert.deepEqual(await state.snapshot(), before);
}

async function partial({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', counts);
  state.update('a', increment);
  state.update('b', increment);
  const some = await state.snapshotForKeys(['a']);
  await assert.rejects(state.restore(some), { code: 'incompatible' });
  assert.deepEqual([state.get('a'), state.get('b')], [1, 1]);
}

async function upgraded({ store }: StateStoreSubject): Promise<void> {
  const old = await store.open('old', versioned(labelledCodec(1), 'number'));
  const state = await store.open('s', versioned(labelledCodec(3), 'number'));
  const direct = await store.open('direct', versioned(labelledCodec(3), 'number'));
  for (const key of mixedKeys) {
    old.put(key, `value of ${key}`, 1);
    direct.put(key, `value of ${key}`, 1);
  }
  old.delete('gone', 1);
  direct.delete('gone', 1);
  await state.restore(await old.snapshot());
  for (const key of mixedKeys) assert.equal(state.get(key)?.value, `value of ${key}`);
  assert.deepEqual(await state.snapshot(), await direct.snapshot());
}

async function merged({ store }: StateStoreSubject): Promise<void> {
  const source = await store.open('source', texts);
  const target = await store.open('target', texts);
  for (const key of ['newer', 'older', 'same', 'only-here']) source.put(key, 'source', 5);
  source.delete('deleted', 5);
  source.delete('revived', 5);
  target.put('newer', 'target', 4);
  target.put('older', 'target', 6);
  target.put('same', 'source', 5);
  target.put('deleted', 'target', 4);
  target.put('revived', 'target', 6);
  target.put('only-there', 'target', 1);
  const exported = await source.snapshot();
  await target.restoreKeys(exported);
  await target.restoreKeys(exported); // twice is once
  const expected = { newer: 'source', older: 'target', same: 'source', 'only-here': 'source' };
  for (const [key, value] of Object.entries(expected))
    assert.equal(target.get(key)?.value, value, key);
  assert.equal(target.get('deleted'), undefined);
  assert.equal(target.put('deleted', 'late', 4), 'older');
  assert.equal(target.get('revived')?.value, 'target');
  assert.equal(target.get('only-there')?.value, 'target');
  assert.equal(source.get('newer')?.value, 'source', 'exporting removes nothing');
}

async function conflicting({ store }: StateStoreSubject): Promise<void> {
  const source = await store.open('source', versioned(stringCodec, 'number'));
  const target = await store.open('target', versioned(stringCodec, 'number'));
  for (const key of mixedKeys) source.put(key, 'source', 5);
  target.put('user-1', 'target', 5);
  const before = await target.snapshot();
  await assert.rejects(target.restoreKeys(await source.snapshot()), { code: 'version-conflict' });
  assert.deepEqual(await target.snapshot(), before);
}

async function aggregates({ store }: StateStoreSubject): Promise<void> {
  const source = await store.open('source', aggregate(numberCodec));
  const target = await store.open('target', aggregate(numberCodec));
  for (const key of ['a', 'b', 'c']) source.update(key, increment);
  target.update('c', () => 10);
  await target.restoreKeys(await source.snapshotForKeys(['a', 'b']));
  assert.deepEqual([target.get('a'), target.get('b'), target.get('c')], [1, 1, 10]);
  target.update('a', () => undefined);
  const before = await target.snapshot();
  const all = await source.snapshot();
  await assert.rejects(target.restoreKeys(all), { code: 'version-conflict' });
  assert.deepEqual(await target.snapshot(), before);
}
