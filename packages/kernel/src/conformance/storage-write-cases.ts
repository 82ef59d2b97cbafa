// Writing: what a batch does, and in which order writes take effect.
//
// K11  A batch is applied completely or not at all, its operations in order.
// K14  Writes take effect in the order of their calls.
import assert from 'node:assert/strict';
import { StorageBatch } from '../storage/storage-batch.js';
import { BUFFERED, batchOf, bytes, entriesOf, put, SYNCED, valueAt } from './storage-samples.js';
import type { StorageSubject } from './storage-subject.js';

export const writeCases = {
  'a put can be read, a second one replaces it, a delete removes it': putReplaceDelete,
  'an unknown key has no value': unknownKey,
  'the empty key and the empty value are kept': emptyKeyAndValue,
  'an empty batch changes nothing': emptyBatch,
  'K11 the operations of a batch are applied in order': orderInsideBatch,
  'K11 a batch is never seen in part': batchIsSeenWhole,
  'K14 writes called at once apply in the order of their calls': writesInCallOrder,
  'K14 writes of both durabilities keep one order': bothDurabilitiesInOrder,
  'writes settle in the order of their calls': settleInOrder,
};

async function putReplaceDelete({ storage }: StorageSubject): Promise<void> {
  await put(storage, { a: 'first', b: 'other' });
  assert.equal(valueAt(storage, 'a'), 'first');
  await put(storage, { a: 'second' });
  assert.equal(valueAt(storage, 'a'), 'second');
  await storage.write(new StorageBatch().delete(bytes('a')).delete(bytes('none')), BUFFERED);
  assert.equal(valueAt(storage, 'a'), undefined);
  assert.deepEqual(await entriesOf(storage), { b: 'other' });
}

async function unknownKey({ storage }: StorageSubject): Promise<void> {
  assert.equal(storage.get(bytes('a')), undefined);
  await put(storage, { ab: '1' });
  for (const key of ['', 'a', 'abc', 'b']) assert.equal(valueAt(storage, key), undefined, key);
}

async function emptyKeyAndValue({ storage }: StorageSubject): Promise<void> {
  await put(storage, { '': 'of the empty key', empty: '' });
  assert.equal(valueAt(storage, ''), 'of the empty key');
  assert.equal(valueAt(storage, 'empty'), '');
  assert.deepEqual(await entriesOf(storage), { '': 'of the empty key', empty: '' });
  await storage.write(new StorageBatch().delete(bytes('')), BUFFERED);
  assert.deepEqual(await entriesOf(storage), { empty: '' });
}

async function emptyBatch({ storage }: StorageSubject): Promise<void> {
  await put(storage, { a: '1' });
  await storage.write(new StorageBatch(), BUFFERED);
  await storage.write(new StorageBatch(), SYNCED);
  assert.deepEqual(await entriesOf(storage), { a: '1' });
}

async function orderInsideBatch({ storage }: StorageSubject): Promise<void> {
  const batch = new StorageBatch()
    .put(bytes('gone'), bytes('1'))
    .delete(bytes('gone'))
    .delete(bytes('kept'))
    .put(bytes('kept'), bytes('1'))
    .put(bytes('last'), bytes('1'))
    .put(bytes('last'), bytes('2'));
  await storage.write(batch, BUFFERED);
  assert.deepEqual(await entriesOf(storage), { kept: '1', last: '2' });
}

async function batchIsSeenWhole({ storage }: StorageSubject): Promise<void> {
  const versions = Array.from({ length: 50 }, (_, version) => String(version));
  const all = Promise.all(
    versions.map((version) =>
      storage.write(batchOf({ a: version, m: version, z: version }), BUFFERED),
    ),
  );
  let isDone = false;
  const done = all.then(() => {
    isDone = true;
  });
  do {
    using snapshot = storage.snapshot();
    const seen = Object.values(await entriesOf(snapshot));
    assert.ok(new Set(seen).size <= 1, `versions seen together: ${seen.join()}`);
    assert.ok(seen.length === 0 || seen.length === 3);
  } while (!isDone);
  await done;
  assert.deepEqual(await entriesOf(storage), { a: '49', m: '49', z: '49' });
}

async function writesInCallOrder({ storage }: StorageSubject): Promise<void> {
  const writes = Array.from({ length: 200 }, (_, index) =>
    storage.write(
      batchOf({ shared: String(index), [`own-${index % 7}`]: String(index) }),
      BUFFERED,
    ),
  );
  await Promise.all(writes);
  assert.equal(valueAt(storage, 'shared'), '199');
  for (let slot = 0; slot < 7; slot += 1) {
    const last = Math.max(
      ...Array.from({ length: 200 }, (_, n) => n).filter((n) => n % 7 === slot),
    );
    assert.equal(valueAt(storage, `own-${slot}`), String(last));
  }
}

async function bothDurabilitiesInOrder({ storage }: StorageSubject): Promise<void> {
  const writes = Array.from({ length: 20 }, (_, index) => {
    const batch = batchOf({ key: String(index) });
    return storage.write(batch, index % 3 === 0 ? SYNCED : BUFFERED);
  });
  await Promise.all(writes);
  assert.equal(valueAt(storage, 'key'), '19');
}

async function settleInOrder({ storage }: StorageSubject): Promise<void> {
  const settled: number[] = [];
  const writes = Array.from({ length: 30 }, async (_, index) => {
    await storage.write(batchOf({ key: String(index) }), index % 5 === 0 ? SYNCED : BUFFERED);
    settled.push(index);
  });
  await Promise.all(writes);
  assert.deepEqual(
    settled,
    settled.toSorted((left, right) => left - right),
  );
}
