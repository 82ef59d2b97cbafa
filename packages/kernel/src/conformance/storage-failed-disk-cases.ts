// A disk that fails: the first error is final, and the store reports it.
//
// K17  A write whose sync fails is `storage-failed` with an unknown outcome. Later writes are not tried.
import assert from 'node:assert/strict';
import { batchOf, put, SYNCED, valueAt } from './storage-samples.js';
import type { StorageSubject } from './storage-subject.js';

export const failedDiskCases = {
  'K17 a write whose sync fails is storage-failed, its outcome unknown': writeFails,
  'K17 after that no write is attempted, and reads continue': laterWritesAreRefused,
  'K14 K17 writes queued after a failed one are not applied': queuedAreNotApplied,
  'K17 securing fails like a write, and so do writes queued after it': securingFails,
};

const FAILED = { code: 'storage-failed', outcome: 'unknown', retryable: false };
const REFUSED = { code: 'storage-failed', outcome: 'not-applied', retryable: false };

async function writeFails(subject: StorageSubject): Promise<void> {
  await subject.breakDisk?.();
  await assert.rejects(subject.storage.write(batchOf({ a: '1' }), SYNCED), FAILED);
  const health = subject.storage.health();
  assert.ok(health.kind === 'failed' && health.reason !== '');
}

async function laterWritesAreRefused(subject: StorageSubject): Promise<void> {
  const { storage } = subject;
  await put(storage, { before: '1' });
  await subject.breakDisk?.();
  await assert.rejects(storage.write(batchOf({ a: '1' }), SYNCED), FAILED);
  await assert.rejects(storage.write(batchOf({ b: '1' }), SYNCED), REFUSED);
  await assert.rejects(put(storage, { c: '1' }), REFUSED);
  await storage.whenReadable();
  assert.equal(valueAt(storage, 'before'), '1');
  assert.equal(valueAt(storage, 'b'), undefined);
  assert.equal(valueAt(storage, 'c'), undefined);
}

async function queuedAreNotApplied(subject: StorageSubject): Promise<void> {
  const { storage } = subject;
  await subject.breakDisk?.();
  const first = storage.write(batchOf({ a: '1' }), SYNCED);
  const queued = [storage.write(batchOf({ b: '1' }), SYNCED), put(storage, { c: '1' })];
  await assert.rejects(first, FAILED);
  await Promise.all(queued.map((write) => assert.rejects(write, { code: 'storage-failed' })));
  assert.equal(storage.health().kind, 'failed');
}

async function securingFails(subject: StorageSubject): Promise<void> {
  const { storage } = subject;
  await put(storage, { before: '1' });
  await subject.breakDisk?.();
  const secured = storage.secure();
  const queued = put(storage, { a: '1' });
  await assert.rejects(secured, FAILED);
  await assert.rejects(queued, { code: 'storage-failed', outcome: 'not-applied' });
  assert.equal(storage.health().kind, 'failed');
  await assert.rejects(storage.secure(), REFUSED);
  assert.equal(valueAt(storage, 'before'), '1');
  assert.equal(valueAt(storage, 'a'), undefined);
}
