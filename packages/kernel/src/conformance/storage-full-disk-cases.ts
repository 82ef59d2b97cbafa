// A full disk: writes are refused, reads continue, and writing resumes when there is space.
//
// K14  When a write fails, those queued after it fail too and are not applied.
// K16  A write that finds the disk full is `storage-full` and not applied. Nothing acknowledged is lost.
import assert from 'node:assert/strict';
import type { Storage } from '../storage/storage.js';
import { StorageBatch } from '../storage/storage-batch.js';
import { bytes, entriesOf, keysOf, put, SYNCED, valueAt } from './storage-samples.js';
import type { StorageSubject } from './storage-subject.js';

export const fullDiskCases = {
  'K16 a write on a full disk is storage-full and not applied': writeIsRefused,
  'K16 reads continue while the disk is full': readsGoOn,
  'K16 writing resumes when there is space': writingResumes,
  'K14 K16 writes queued after a refused one are refused too': queuedAreRefused,
  'K16 securing a full store loses nothing, and succeeds when there is space': securingResumes,
  'K16 an older snapshot still shows its moment or reports that it is gone': snapshotFromBefore,
};

const REFUSED = { code: 'storage-full', outcome: 'not-applied', retryable: true };

async function writeIsRefused(subject: StorageSubject): Promise<void> {
  const { storage } = subject;
  await put(storage, { before: '1' });
  await subject.fillDisk?.();
  for (const attempt of ['first', 'second', 'third']) {
    await assert.rejects(writeLarge(storage, attempt), REFUSED);
    await storage.whenReadable();
    assert.equal(storage.health().kind, 'full');
  }
  assert.deepEqual(await entriesOf(storage), { before: '1' });
}

async function readsGoOn(subject: StorageSubject): Promise<void> {
  const { storage } = subject;
  await put(storage, { a: '1', b: '2' });
  await subject.fillDisk?.();
  await assert.rejects(writeLarge(storage, 'c'), REFUSED);
  await storage.whenReadable();
  assert.equal(valueAt(storage, 'a'), '1');
  using snapshot = storage.snapshot();
  assert.deepEqual(await entriesOf(snapshot), { a: '1', b: '2' });
}

async function writingResumes(subject: StorageSubject): Promise<void> {
  const { storage } = subject;
  await put(storage, { before: '1' });
  for (let round = 0; round < 3; round += 1) {
    await subject.fillDisk?.();
    await assert.rejects(writeLarge(storage, `refused-${round}`), REFUSED);
    await subject.freeDisk?.();
    await writeLarge(storage, `written-${round}`);
    assert.equal(storage.health().kind, 'ok');
  }
  const expected = ['before', 'written-0', 'written-1', 'written-2'];
  assert.deepEqual(await keysOf(storage), expected);
  await storage.close();
  const again = await subject.reopen?.();
  if (again) assert.deepEqual(await keysOf(again), expected);
  await again?.close();
}

async function queuedAreRefused(subject: StorageSubject): Promise<void> {
  const { storage } = subject;
  await subject.fillDisk?.();
  const writes = [
    writeLarge(storage, 'a'),
    storage.write(new StorageBatch().put(bytes('b'), bytes('small')), SYNCED),
    writeLarge(storage, 'c'),
  ];
  await Promise.all(writes.map((write) => assert.rejects(write, REFUSED)));
  await storage.whenReadable();
  assert.deepEqual(await keysOf(storage), []);
}

async function snapshotFromBefore(subject: StorageSubject): Promise<void> {
  const { storage } = subject;
  await put(storage, { a: 'before' });
  using snapshot = storage.snapshot();
  await subject.fillDisk?.();
  await assert.rejects(writeLarge(storage, 'b'), REFUSED);
  await subject.freeDisk?.();
  await writeLarge(storage, 'a');
  try {
    assert.equal(valueAt(snapshot, 'a'), 'before');
  } catch (thrown) {
    assert.equal((thrown as { code?: unknown }).code, 'unavailable');
  }
}

/** On a full disk it may succeed: earlier writes already have their space. */
async function securingResumes(subject: StorageSubject): Promise<void> {
  const { storage } = subject;
  await put(storage, { before: '1' });
  await subject.fillDisk?.();
  const refusal = await storage.secure().catch((thrown: unknown) => thrown);
  if (refusal !== undefined) assert.equal((refusal as { code?: unknown }).code, 'storage-full');
  await assert.rejects(writeLarge(storage, 'refused'), REFUSED);
  await subject.freeDisk?.();
  await storage.secure();
  assert.equal(storage.health().kind, 'ok');
  await writeLarge(storage, 'written');
  assert.deepEqual(await keysOf(storage), ['before', 'written']);
}

/** Larger than what may be left in the last pages of a full disk. */
function writeLarge(storage: Storage, key: string): Promise<void> {
  return storage.write(new StorageBatch().put(bytes(key), new Uint8Array(64 * 1024)), SYNCED);
}
