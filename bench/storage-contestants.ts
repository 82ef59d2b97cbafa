// The contestants of the storage benches: our two stores, and LevelDB without our adapter.
//
// Plain LevelDB does what the adapter does for its callers, chained batches and ranges read in batches of the same
// size, but keeps no checksums, does not order writes, and does not survive a full disk.
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createMemoryStorage,
  createSystemClock,
  type Durability,
  kernelLimits,
  type Storage,
  StorageBatch,
  silentLogger,
} from '@syncline/kernel';
import { openLevelStorage } from '@syncline/kernel/level';
import { ClassicLevel } from 'classic-level';
import type { Contestant } from './bench.js';

const { version: classicLevelVersion } = createRequire(import.meta.url)(
  'classic-level/package.json',
) as { readonly version: string };

export type BenchEntries = readonly (readonly [key: Uint8Array, value: Uint8Array])[];

export interface StoreSubject {
  write(entries: BenchEntries, durability: Durability): Promise<void>;
  get(key: Uint8Array): Uint8Array | undefined;
  /** Reads everything, and returns how many entries that was. */
  scan(): Promise<number>;
}

export const levelContestant: Contestant<StoreSubject> = {
  name: 'LevelDB storage',
  async open() {
    const directory = await mkdtemp(join(tmpdir(), 'syncline-bench-'));
    const deps = { clock: createSystemClock(), logger: silentLogger };
    return subjectOf(await openLevelStorage(deps, { directory }), directory);
  },
};

export const memoryContestant: Contestant<StoreSubject> = {
  name: 'memory',
  open: async () => subjectOf(createMemoryStorage(), undefined),
};

export const plainLevelContestant: Contestant<StoreSubject> = {
  name: 'classic-level',
  version: classicLevelVersion,
  async open() {
    const directory = await mkdtemp(join(tmpdir(), 'syncline-bench-'));
    const database = new ClassicLevel<Uint8Array, Uint8Array>(directory, {
      keyEncoding: 'view',
      valueEncoding: 'view',
      writeBufferSize: kernelLimits.storageWriteBufferBytes.value,
      cacheSize: kernelLimits.storageCacheBytes.value,
    });
    await database.open();
    return {
      write(entries, durability) {
        const batch = database.batch();
        for (const [key, value] of entries) batch.put(key, value);
        return batch.write({ sync: durability === 'synced' });
      },
      get: (key) => database.getSync(key),
      scan: () => scanLevel(database),
      async [Symbol.asyncDispose]() {
        await database.close();
        await rm(directory, { recursive: true });
      },
    };
  },
};

function subjectOf(
  storage: Storage,
  directory: string | undefined,
): StoreSubject & AsyncDisposable {
  return {
    write(entries, durability) {
      const batch = new StorageBatch();
      for (const [key, value] of entries) batch.put(key, value);
      return storage.write(batch, { durability });
    },
    get: (key) => storage.get(key),
    async scan() {
      let count = 0;
      for await (const batch of storage.range().batches()) count += batch.length;
      return count;
    },
    async [Symbol.asyncDispose]() {
      await storage.close();
      if (directory !== undefined) await rm(directory, { recursive: true });
    },
  };
}

async function scanLevel(database: ClassicLevel<Uint8Array, Uint8Array>): Promise<number> {
  const highWaterMarkBytes = kernelLimits.rangeBatchBytesMax.value;
  await using iterator = database.iterator({ highWaterMarkBytes });
  let count = 0;
  for (;;) {
    const entries = await iterator.nextv(kernelLimits.rangeBatchEntriesMax.value);
    if (entries.length === 0) return count;
    count += entries.length;
  }
}
