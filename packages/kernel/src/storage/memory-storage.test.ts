import { describe, expect, it } from 'vitest';
import { storageSuite } from '../conformance/storage-suite.js';
import { createMemoryStorage } from './memory-storage.js';
import { StorageBatch } from './storage-batch.js';

describe('memory storage', () => {
  const create = async () => {
    const storage = createMemoryStorage();
    return { storage, [Symbol.asyncDispose]: () => storage.close() };
  };
  for (const { name, run } of storageSuite(create, { isPersistent: false, canFillDisk: false }))
    it(name, run);

  it('lets others run between the batches of a long range', async () => {
    let deferred = 0;
    const clock = {
      defer(callback: () => void) {
        deferred += 1;
        queueMicrotask(callback);
        return { cancel() {} };
      },
    };
    const storage = createMemoryStorage({ clock });
    const batch = new StorageBatch();
    for (let index = 0; index < 5000; index += 1) {
      batch.put(Uint8Array.of(index >> 8, index & 255), new Uint8Array(4));
    }
    await storage.write(batch, { durability: 'buffered' });
    for await (const _ of storage.range());
    expect(deferred).toBe(4); // 1024 entries at a time
  });
});
