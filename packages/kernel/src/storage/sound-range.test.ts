// Ranges with damaged entries at every place: intact entries are read, damaged ones are named.
import { expect, test } from 'vitest';
import { SynclineError } from '../error.js';
import { createMemoryStorage } from './memory-storage.js';
import { readSound } from './sound-range.js';
import type { Storage } from './storage.js';
import { StorageBatch } from './storage-batch.js';

const text = (value: string) => new TextEncoder().encode(value);

/** Fails like LevelDB: the whole batch of a damaged entry is lost, and its key is truncated to 32 bytes. */
function withDamage(storage: Storage, damaged: ReadonlySet<string>): Storage {
  const check = (key: Uint8Array): void => {
    const name = Buffer.from(key).toString();
    if (!damaged.has(name)) return;
    const shown = Buffer.from(key.subarray(0, 32)).toString('hex');
    const keyHex = key.length > 32 ? `${shown}…` : shown;
    throw new SynclineError('corrupt', 'damaged', { details: { keyHex, keyBytes: key.length } });
  };
  return new Proxy(storage, {
    get(target, property) {
      if (property !== 'range') return Reflect.get(target, property).bind(target);
      return (options: Parameters<Storage['range']>[0]) => ({
        async *batches() {
          for await (const entries of target.range(options).batches()) {
            for (const { key } of entries) check(key);
            yield entries;
          }
        },
      });
    },
  });
}

async function read(names: readonly string[], damaged: readonly string[]) {
  const storage = createMemoryStorage();
  const batch = new StorageBatch();
  for (const name of names) batch.put(text(name), text('value'));
  await storage.write(batch, { durability: 'buffered' });
  const sound: string[] = [];
  const corrupt: string[] = [];
  const range = { from: text('fair/'), to: text('fair0') };
  for await (const part of readSound(withDamage(storage, new Set(damaged)), range)) {
    sound.push(...part.entries.map(({ key }) => Buffer.from(key).toString()));
    corrupt.push(...part.damaged.map(({ key }) => Buffer.from(key).toString()));
  }
  return { sound, corrupt };
}

const names = Array.from({ length: 2_000 }, (_, at) => `fair/api/1/0/${at}`).toSorted();

test.each([0, 1, 700, 1_999])('the damaged entry %i is left out and named', async (at) => {
  const damaged = names[at] ?? '';
  const { sound, corrupt } = await read(names, [damaged]);
  expect(sound).toEqual(names.filter((name) => name !== damaged));
  expect(corrupt).toEqual([damaged]);
});

test('several, even consecutive ones', async () => {
  const damaged = [0, 1, 2, 900, 1_998, 1_999].map((at) => names[at] ?? '');
  const { sound, corrupt } = await read(names, damaged);
  expect(sound).toEqual(names.filter((name) => !damaged.includes(name)));
  expect(corrupt).toEqual(damaged);
});

test('the error truncates a long key: all keys with that prefix are left out', async () => {
  const long = `fair/${'t'.repeat(26)}/`; // 32 bytes
  const [before, after] = ['fair/api', 'fair/u/1/0/0'];
  const { sound, corrupt } = await read(
    [before, `${long}1/0/1`, `${long}1/0/2`, after],
    [`${long}1/0/1`],
  );
  expect(sound).toEqual([before, after]);
  expect(corrupt).toEqual([long]);
});

test('another failure is not a damaged entry', async () => {
  const storage = createMemoryStorage();
  await storage.close();
  const reading = async () => {
    for await (const _ of readSound(storage, { from: text('a'), to: text('b') }));
  };
  await expect(reading()).rejects.toMatchObject({ code: 'closed' });
});
