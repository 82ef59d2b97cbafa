import { access, mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { storageSuite } from '../conformance/storage-suite.js';
import { silentLogger } from '../logger.js';
import { createSystemClock } from '../system-clock.js';
import { openLevelStorage } from './level-storage.js';
import { StorageBatch } from './storage-batch.js';

describe('LevelDB storage', () => {
  const deps = { clock: createSystemClock(), logger: silentLogger };

  const create = async () => {
    const directory = await mkdtemp(join(tmpdir(), 'syncline-level-'));
    const open = () => openLevelStorage(deps, { directory: join(directory, 'db') });
    const storage = await open();
    return {
      storage,
      reopen: open,
      async [Symbol.asyncDispose]() {
        await storage.close();
        await rm(directory, { recursive: true });
      },
    };
  };
  for (const { name, run } of storageSuite(create, { isPersistent: true, canFillDisk: false }))
    it(name, run);

  it('K15 what was secured needs no log, and its tables stay as they are', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'syncline-level-'));
    const storage = await openLevelStorage(deps, { directory });
    const tables = async () => (await readdir(directory)).filter((name) => name.endsWith('.ldb'));
    for (let round = 0; round < 3; round += 1) {
      const before = await tables();
      const batch = new StorageBatch();
      for (const key of [1, 200]) batch.put(Uint8Array.of(key, round), Uint8Array.of(round));
      await storage.write(batch, { durability: 'buffered' });
      await storage.secure();
      const after = await tables();
      expect(after).toEqual(expect.arrayContaining(before));
      expect(after.length).toBe(before.length + 1);
    }
    await storage.close();
    for (const name of await readdir(directory)) {
      if (name.endsWith('.log')) await truncate(join(directory, name));
    }
    const again = await openLevelStorage(deps, { directory });
    for (let round = 0; round < 3; round += 1) {
      for (const key of [1, 200]) expect(again.get(Uint8Array.of(key, round))?.[0]).toBe(round);
    }
    await again.close();
    await rm(directory, { recursive: true });
  });

  it('removes what a process left that was killed while it checked for space', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'syncline-level-'));
    const probe = join(directory, 'room.tmp');
    await writeFile(probe, 'left over');
    const storage = await openLevelStorage(deps, { directory });
    await expect(access(probe)).rejects.toThrow('ENOENT');
    await storage.close();
    await rm(directory, { recursive: true });
  });
});
