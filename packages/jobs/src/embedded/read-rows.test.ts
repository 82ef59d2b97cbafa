import {
  createMemoryStorage,
  StorageBatch,
  type StorageReads,
  SynclineError,
} from '@syncline/kernel';
import { expect, test } from 'vitest';
import { readRows } from './load-rows.js';
import { corruptRow } from './rows.js';

const range = { from: Uint8Array.of(0), to: Uint8Array.of(255) };

/** A storage of the keys 1 to 9, in which reading some of them fails as on LevelDB. */
async function storageWith(damagedKeys: readonly number[]): Promise<StorageReads> {
  const storage = createMemoryStorage();
  const batch = new StorageBatch();
  for (let key = 1; key < 10; key += 1) batch.put(Uint8Array.of(key), Uint8Array.of(key * 2));
  await storage.write(batch, { durability: 'synced' });
  return {
    get: (key) => storage.get(key),
    range: (options) => {
      const inner = storage.range(options);
      async function* batches() {
        for await (const entries of inner.batches()) {
          const damaged = entries.find(({ key }) => damagedKeys.includes(key[0] ?? 0));
          if (damaged) throw corruptRow(damaged.key);
          yield entries;
        }
      }
      return { ...inner, batches };
    },
  };
}

async function read(reads: StorageReads, onRow: (key: number) => void = () => {}) {
  const found: string[] = [];
  await readRows(reads, range, {
    row: (key, value) => {
      onRow(key[0] ?? 0);
      found.push(`${key[0]}=${value[0]}`);
    },
    damaged: (key, { code }) => found.push(`${key[0]} ${code}`),
  });
  return found.join(' ');
}

test('rows that the storage finds damaged do not affect others', async () => {
  expect(await read(await storageWith([]))).toBe('1=2 2=4 3=6 4=8 5=10 6=12 7=14 8=16 9=18');
  expect(await read(await storageWith([1, 4, 5, 9]))).toBe(
    '1 corrupt 2=4 3=6 4 corrupt 5 corrupt 6=12 7=14 8=16 9 corrupt',
  );
});

test('rows that their decoder finds damaged do not affect others', async () => {
  const throwAt3 = (key: number) => {
    if (key === 3) throw corruptRow(Uint8Array.of(key));
  };
  expect(await read(await storageWith([7]), throwAt3)).toBe(
    '1=2 2=4 3 corrupt 4=8 5=10 6=12 7 corrupt 8=16 9=18',
  );
});

test('any other error is rethrown', async () => {
  const fail = () => {
    throw new SynclineError('unavailable', 'reopened');
  };
  await expect(read(await storageWith([]), fail)).rejects.toMatchObject({ code: 'unavailable' });
});
