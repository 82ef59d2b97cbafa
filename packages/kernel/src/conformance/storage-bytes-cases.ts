// Who owns the bytes: a store keeps no reference to its arguments, and never changes what it has returned.
//
// K13  Keys, values and batches may be reused once their `write` has settled. Bytes read stay as they are.
import assert from 'node:assert/strict';
import { StorageBatch } from '../storage/storage-batch.js';
import { BUFFERED, bytes, entriesOf, put, text, valueAt } from './storage-samples.js';
import type { StorageSubject } from './storage-subject.js';

export const bytesCases = {
  'K13 keys, values and batches may be reused once their write has settled': reuseAfterWrite,
  'K13 bytes read do not change later': readBytesStay,
  'K13 bytes read may be changed without harm to the store': readBytesAreOwn,
  'keys and values may be parts of larger buffers': partsOfBuffers,
  'a value of several MiB and a key of 64 KiB are kept': largeBytes,
  'all byte values are kept': allByteValues,
};

/** Other writes are in flight at the same time, one of them large, which is passed on in slices. */
async function reuseAfterWrite({ storage }: StorageSubject): Promise<void> {
  const large = new StorageBatch();
  for (let index = 0; index < 3_000; index += 1) large.put(bytes(`large-${index}`), bytes('1'));
  const others = [storage.write(large, BUFFERED)];
  const key = bytes('key-?');
  const value = new Uint8Array(100);
  const batch = new StorageBatch();
  for (let index = 0; index < 5; index += 1) {
    key[4] = 48 + index;
    value.fill(index);
    batch.clear();
    const written = storage.write(batch.put(key, value), BUFFERED);
    others.push(put(storage, { [`other-${index}`]: '1' }));
    await written;
  }
  key.fill(255);
  value.fill(255);
  batch.delete(bytes('key-0'));
  await Promise.all(others);
  for (let index = 0; index < 5; index += 1) {
    const stored = storage.get(bytes(`key-${index}`));
    assert.deepEqual(Array.from(stored ?? []), Array(100).fill(index));
  }
  assert.equal(valueAt(storage, 'large-2999'), '1');
}

async function readBytesStay({ storage }: StorageSubject): Promise<void> {
  await put(storage, { a: 'first', b: 'first' });
  const got = storage.get(bytes('a'));
  const read = [];
  for await (const entry of storage.range()) read.push(entry);
  await put(storage, { a: 'other', b: 'other' });
  storage.get(bytes('b'));
  for await (const _ of storage.range());
  assert.equal(text(got), 'first');
  assert.deepEqual(
    read.map(({ key, value }) => [text(key), text(value)]),
    [
      ['a', 'first'],
      ['b', 'first'],
    ],
  );
}

async function readBytesAreOwn({ storage }: StorageSubject): Promise<void> {
  await put(storage, { a: 'first' });
  storage.get(bytes('a'))?.fill(0);
  for await (const { key, value } of storage.range()) {
    key.fill(0);
    value.fill(0);
  }
  assert.deepEqual(await entriesOf(storage), { a: 'first' });
}

async function partsOfBuffers({ storage }: StorageSubject): Promise<void> {
  const whole = bytes('..key..value..');
  await storage.write(
    new StorageBatch().put(whole.subarray(2, 5), whole.subarray(7, 12)),
    BUFFERED,
  );
  assert.equal(text(storage.get(whole.subarray(2, 5))), 'value');
  assert.deepEqual(await entriesOf(storage, { from: whole.subarray(2, 3) }), { key: 'value' });
  await storage.write(new StorageBatch().delete(whole.subarray(2, 5)), BUFFERED);
  assert.equal(valueAt(storage, 'key'), undefined);
}

async function largeBytes({ storage }: StorageSubject): Promise<void> {
  const key = new Uint8Array(64 * 1024).fill(7);
  const value = new Uint8Array(5 * 1024 * 1024);
  for (let index = 0; index < value.length; index += 1) value[index] = index % 251;
  const batch = new StorageBatch().put(key, value).put(bytes('small'), bytes('1'));
  await storage.write(batch, BUFFERED);
  assert.ok(Buffer.from(value).equals(storage.get(key) ?? new Uint8Array()));
  assert.equal(valueAt(storage, 'small'), '1');
  for await (const entry of storage.range({ to: bytes('s') })) {
    assert.ok(Buffer.from(key).equals(entry.key) && Buffer.from(value).equals(entry.value));
  }
}

async function allByteValues({ storage }: StorageSubject): Promise<void> {
  const all = Uint8Array.from({ length: 256 }, (_, index) => index);
  await storage.write(new StorageBatch().put(all, all), BUFFERED);
  assert.deepEqual(Array.from(storage.get(all) ?? []), Array.from(all));
  for await (const { key, value } of storage.range()) {
    assert.deepEqual([Array.from(key), Array.from(value)], [Array.from(all), Array.from(all)]);
  }
}
