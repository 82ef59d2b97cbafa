// Persistence: writes survive closing and reopening the store.
import assert from 'node:assert/strict';
import type { Storage } from '../storage/storage.js';
import { StorageBatch } from '../storage/storage-batch.js';
import {
  BUFFERED,
  batchOf,
  bytes,
  entriesOf,
  keysOf,
  numbered,
  SYNCED,
} from './storage-samples.js';
import type { StorageSubject } from './storage-subject.js';

export const persistenceCases = {
  'writes of both durabilities survive a reopen': writesAreThere,
  'K14 writes queued when close was called survive': queuedWritesAreThere,
  'secured writes survive unchanged': securedWritesAreThere,
  'a store may be reopened many times': manyReopenings,
};

async function writesAreThere(subject: StorageSubject): Promise<void> {
  const { storage } = subject;
  await storage.write(batchOf({ '': 'empty key', buffered: '1', deleted: '1' }), BUFFERED);
  await storage.write(batchOf({ empty: '', synced: '1' }), SYNCED);
  await storage.write(new StorageBatch().delete(bytes('deleted')), SYNCED);
  const again = await reopened(subject, storage);
  const expected = { '': 'empty key', buffered: '1', empty: '', synced: '1' };
  assert.deepEqual(await entriesOf(again), expected);
  await again.close();
}

async function queuedWritesAreThere(subject: StorageSubject): Promise<void> {
  const { storage } = subject;
  const writes = Array.from({ length: 50 }, (_, index) =>
    storage.write(batchOf({ [numbered(index)]: 'v' }), index % 10 === 0 ? SYNCED : BUFFERED),
  );
  const again = await reopened(subject, storage);
  await Promise.all(writes);
  assert.equal((await keysOf(again)).length, 50);
  await again.close();
}

/** Includes keys that a store might use for itself. */
async function securedWritesAreThere(subject: StorageSubject): Promise<void> {
  const { storage } = subject;
  const highKeys = [15, 16, 17, 18].map((length) => new Uint8Array(length).fill(0xff));
  const batch = new StorageBatch().put(bytes(''), bytes('first'));
  for (const key of highKeys) batch.put(key, bytes(`${key.length}`));
  await storage.secure(); // with nothing in it
  const written = storage.write(batch, BUFFERED);
  const secured = storage.secure();
  const later = storage.write(batchOf({ later: '1' }), BUFFERED);
  await Promise.all([written, secured, later, storage.secure()]);
  const again = await reopened(subject, storage);
  await again.secure();
  const found: string[] = [];
  for await (const { value } of again.range()) found.push(Buffer.from(value).toString());
  assert.deepEqual(found, ['first', '1', '15', '16', '17', '18']);
  await again.close();
}

async function manyReopenings(subject: StorageSubject): Promise<void> {
  let { storage } = subject;
  for (let round = 0; round < 5; round += 1) {
    await storage.write(batchOf({ [numbered(round)]: 'v' }), BUFFERED);
    storage = await reopened(subject, storage);
    assert.equal((await keysOf(storage)).length, round + 1);
  }
  await storage.close();
}

async function reopened(subject: StorageSubject, storage: Storage): Promise<Storage> {
  assert.ok(subject.reopen, 'a persistent subject can be reopened');
  await storage.close();
  return subject.reopen();
}
