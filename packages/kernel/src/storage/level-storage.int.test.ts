import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
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
});
