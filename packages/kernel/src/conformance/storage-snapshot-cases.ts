// Snapshots and ranges show one moment, whatever is written in the meantime.
//
// K12  A snapshot shows the moment it was taken, a range the moment its iteration started.
import assert from 'node:assert/strict';
import { kernelLimits } from '../limits.js';
import { StorageBatch } from '../storage/storage-batch.js';
import {
  BUFFERED,
  bytes,
  entriesOf,
  keysOf,
  numbered,
  put,
  putNumbered,
  text,
  valueAt,
} from './storage-samples.js';
import type { StorageSubject } from './storage-subject.js';

export const snapshotCases = {
  'K12 a snapshot does not see later writes': snapshotIsFixed,
  'K12 snapshots of different moments can be open together': manyMoments,
  'K12 a range of a snapshot shows its moment': rangeOfSnapshot,
  'K12 a range shows the moment its iteration started': rangeIsFixedAtStart,
  'K12 a range does not see writes between its batches': rangeUnderWrites,
  'a closed snapshot fails with closed, and may be closed again': closedSnapshot,
  'closing a snapshot ends its ranges': closeEndsRanges,
};

async function snapshotIsFixed({ storage }: StorageSubject): Promise<void> {
  await put(storage, { changed: 'old', deleted: 'old', kept: 'old' });
  using snapshot = storage.snapshot();
  await put(storage, { added: 'new', changed: 'new' });
  await storage.write(new StorageBatch().delete(bytes('deleted')), BUFFERED);
  const old = { changed: 'old', deleted: 'old', kept: 'old' };
  assert.deepEqual(await entriesOf(snapshot), old);
  for (const [key, value] of Object.entries(old)) assert.equal(valueAt(snapshot, key), value);
  assert.equal(valueAt(snapshot, 'added'), undefined);
  assert.deepEqual(await entriesOf(storage), { added: 'new', changed: 'new', kept: 'old' });
}

async function manyMoments({ storage }: StorageSubject): Promise<void> {
  const snapshots = [];
  for (let version = 0; version < 20; version += 1) {
    snapshots.push(storage.snapshot());
    await put(storage, { [numbered(version)]: 'v', last: String(version) });
  }
  for (const [version, snapshot] of snapshots.entries()) {
    assert.equal(valueAt(snapshot, 'last'), version === 0 ? undefined : String(version - 1));
    assert.equal((await keysOf(snapshot, { to: bytes('a') })).length, version);
    snapshot.close();
  }
}

async function rangeOfSnapshot({ storage }: StorageSubject): Promise<void> {
  await put(storage, { a: '1', b: '1', c: '1' });
  using snapshot = storage.snapshot();
  const range = snapshot.range({ from: bytes('b'), reverse: true, limit: 2 });
  await put(storage, { bb: '2', d: '2' });
  const keys = [];
  for await (const { key } of range) keys.push(text(key));
  assert.deepEqual(keys, ['c', 'b']);
}

async function rangeIsFixedAtStart({ storage }: StorageSubject): Promise<void> {
  await put(storage, { a: '1' });
  const range = storage.range();
  await put(storage, { b: '2' });
  const iterator = range[Symbol.asyncIterator]();
  const first = iterator.next();
  await put(storage, { c: '3' });
  const keys = [];
  for (let next = await first; !next.done; next = await iterator.next()) {
    keys.push(text(next.value.key));
  }
  assert.deepEqual(keys, ['a', 'b']);
}

async function rangeUnderWrites({ storage }: StorageSubject): Promise<void> {
  const count = 3 * kernelLimits.rangeBatchEntriesMax.value;
  await putNumbered(storage, count, 'old');
  let entries = 0;
  for await (const batch of storage.range().batches()) {
    for (const { value } of batch) assert.equal(text(value), 'old');
    entries += batch.length;
    await putNumbered(storage, count + 1, `new ${entries}`);
  }
  assert.equal(entries, count);
}

async function closedSnapshot({ storage }: StorageSubject): Promise<void> {
  await put(storage, { a: '1' });
  const snapshot = storage.snapshot();
  snapshot.close();
  snapshot.close();
  assert.throws(() => snapshot.get(bytes('a')), { code: 'closed' });
  await assert.rejects(async () => keysOf(snapshot), { code: 'closed' });
  assert.equal(valueAt(storage, 'a'), '1');
}

async function closeEndsRanges({ storage }: StorageSubject): Promise<void> {
  await putNumbered(storage, 3 * kernelLimits.rangeBatchEntriesMax.value, 'v');
  const snapshot = storage.snapshot();
  const batches = snapshot.range().batches()[Symbol.asyncIterator]();
  await batches.next();
  snapshot.close();
  await assert.rejects(async () => batches.next(), { code: 'closed' });
}
