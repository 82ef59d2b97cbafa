import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { storageSuite } from '../conformance/storage-suite.js';
import { silentLogger } from '../logger.js';
import { createSystemClock } from '../system-clock.js';
import { openLevelStorage } from './level-storage.js';

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

  it('removes what a process killed while it looked for room has left', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'syncline-level-'));
    const probe = join(directory, 'room.tmp');
    await writeFile(probe, 'left over');
    const storage = await openLevelStorage(deps, { directory });
    await expect(access(probe)).rejects.toThrow('ENOENT');
    await storage.close();
    await rm(directory, { recursive: true });
  });
});
