// Closing: nothing in flight is lost, and later calls fail with `closed`.
import assert from 'node:assert/strict';
import { kernelLimits } from '../limits.js';
import { BUFFERED, batchOf, bytes, keysOf, put, putNumbered } from './storage-samples.js';
import type { StorageSubject } from './storage-subject.js';

export const closeCases = {
  'an open store is healthy and readable': healthyWhenOpen,
  'a closed store refuses everything as closed': closedRefuses,
  'a store may be closed twice, even at the same time': closeTwice,
  'closing waits for writes in flight': closeWaitsForWrites,
  'a write after the call of close is refused': writeAfterClose,
  'closing also closes open snapshots and ranges': closeEndsReaders,
};

async function healthyWhenOpen({ storage }: StorageSubject): Promise<void> {
  assert.deepEqual(storage.health(), { kind: 'ok' });
  await storage.whenReadable();
}

async function closedRefuses({ storage }: StorageSubject): Promise<void> {
  await put(storage, { a: '1' });
  await storage.close();
  const closed = { code: 'closed' };
  assert.deepEqual(storage.health(), { kind: 'closed' });
  assert.throws(() => storage.get(bytes('a')), closed);
  assert.throws(() => storage.snapshot(), closed);
  await assert.rejects(async () => keysOf(storage), closed);
  await assert.rejects(storage.write(batchOf({ b: '2' }), BUFFERED), closed);
  await assert.rejects(storage.secure(), closed);
}

async function closeTwice({ storage }: StorageSubject): Promise<void> {
  await Promise.all([storage.close(), storage.close()]);
  await storage.close();
  assert.deepEqual(storage.health(), { kind: 'closed' });
}

async function closeWaitsForWrites({ storage }: StorageSubject): Promise<void> {
  let written = 0;
  const writes = Array.from({ length: 20 }, async (_, index) => {
    await storage.write(batchOf({ key: String(index) }), BUFFERED);
    written += 1;
  });
  await storage.close();
  await Promise.all(writes);
  assert.equal(written, 20);
}

async function writeAfterClose({ storage }: StorageSubject): Promise<void> {
  const first = storage.write(batchOf({ a: '1' }), BUFFERED);
  const closing = storage.close();
  await assert.rejects(storage.write(batchOf({ b: '2' }), BUFFERED), { code: 'closed' });
  await Promise.all([first, closing]);
}

async function closeEndsReaders({ storage }: StorageSubject): Promise<void> {
  await putNumbered(storage, 3 * kernelLimits.rangeBatchEntriesMax.value, 'v');
  const snapshot = storage.snapshot();
  const batches = storage.range().batches()[Symbol.asyncIterator]();
  await batches.next();
  await storage.close();
  await assert.rejects(async () => batches.next(), { code: 'closed' });
  assert.throws(() => snapshot.get(bytes('a')), { code: 'closed' });
  snapshot.close();
}
