// openLevel on an incomplete directory: existing data must never be mistaken for a new store.
import {
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDirectory } from '@syncline/testkit';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../logger.js';
import { createSystemClock } from '../system-clock.js';
import { openLevelStorage } from './level-storage.js';
import { StorageBatch } from './storage-batch.js';

const deps = { clock: createSystemClock(), logger: silentLogger };
const KEY = Uint8Array.of(1);
const VALUE = Uint8Array.of(2);

/** Opened `openings` times: the first leaves a log, the second turns it into a table. */
async function writeStore(directory: string, openings: number): Promise<void> {
  for (let opening = 0; opening < openings; opening += 1) {
    await using storage = await openLevelStorage(deps, { directory });
    if (opening === 0) {
      await storage.write(new StorageBatch().put(KEY, VALUE), { durability: 'synced' });
    }
  }
}

async function contentOf(directory: string): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(directory)).sort();
  const texts = names.map((name) => readFile(join(directory, name), 'latin1'));
  return new Map((await Promise.all(texts)).map((text, index) => [names[index] ?? '', text]));
}

describe('K18 a store without CURRENT', () => {
  it.each([
    ['a log', 1],
    ['a table', 2],
  ])('but with %s is corrupt, and none of its files is touched', async (_name, openings) => {
    await using directory = await makeTempDirectory('open');
    await writeStore(directory.path, openings);
    const current = join(directory.path, 'CURRENT');
    const text = await readFile(current);
    await rm(current);
    const before = await contentOf(directory.path);
    const error = await openLevelStorage(deps, { directory: directory.path }).catch((e) => e);
    expect(error).toMatchObject({ code: 'corrupt', details: { directory: directory.path } });
    expect(error.message).toContain('no file CURRENT');
    expect(await contentOf(directory.path)).toEqual(before);
    await writeFile(current, text);
    await using storage = await openLevelStorage(deps, { directory: directory.path });
    expect(storage.get(KEY)).toEqual(VALUE);
  });

  it.each(['000005.ldb', '000005.sst', '000003.log', 'MANIFEST-000011'])(
    'but with %s alone is corrupt',
    async (name) => {
      await using directory = await makeTempDirectory('open');
      await writeFile(join(directory.path, name), 'x');
      await expect(openLevelStorage(deps, { directory: directory.path })).rejects.toMatchObject({
        code: 'corrupt',
      });
      expect(await readdir(directory.path)).toEqual([name]);
    },
  );

  it('is new if its first opening was interrupted before it wrote one', async () => {
    await using directory = await makeTempDirectory('open');
    for (const name of ['LOCK', 'LOG', 'MANIFEST-000001', '000001.dbtmp', 'room.tmp']) {
      await writeFile(join(directory.path, name), '');
    }
    await using storage = await openLevelStorage(deps, { directory: directory.path });
    expect(storage.get(KEY)).toBeUndefined();
  });
});

describe('K18 a store whose files do not fit together', () => {
  it('is corrupt when the manifest is missing', async () => {
    await using directory = await makeTempDirectory('open');
    await writeStore(directory.path, 2);
    await rm(await findFile(directory.path, /^MANIFEST-/));
    const error = await openLevelStorage(deps, { directory: directory.path }).catch((e) => e);
    expect(error.code).toBe('corrupt');
    expect(error.message).toContain('Restore the directory from a backup');
  });

  it.each([0, 0.5, 0.9])(
    'is corrupt to readers of a table cut to %f of its length',
    async (part) => {
      await using directory = await makeTempDirectory('open');
      await writeStore(directory.path, 2);
      const table = await findFile(directory.path, /\.ldb$/);
      await truncate(table, Math.floor((await stat(table)).size * part));
      await using storage = await openLevelStorage(deps, { directory: directory.path });
      expect(() => storage.get(KEY)).toThrow(expect.objectContaining({ code: 'corrupt' }));
      await expect(storage.range()[Symbol.asyncIterator]().next()).rejects.toMatchObject({
        code: 'corrupt',
      });
    },
  );
});

it('K15 a log that cannot be opened keeps the store closed, and its writes are not lost', async () => {
  await using directory = await makeTempDirectory('open');
  await writeStore(directory.path, 1);
  const log = await findFile(directory.path, /\.log$/);
  await rename(log, `${log}.aside`);
  await symlink(log, log); // a link to itself, since root may read everything
  await expect(openLevelStorage(deps, { directory: directory.path })).rejects.toMatchObject({
    code: 'invalid-argument',
    details: { errno: 'ELOOP' },
  });
  await rename(`${log}.aside`, log);
  await using storage = await openLevelStorage(deps, { directory: directory.path });
  expect(storage.get(KEY)).toEqual(VALUE);
});

async function findFile(directory: string, pattern: RegExp): Promise<string> {
  const name = (await readdir(directory)).find((each) => pattern.test(each));
  return join(directory, name ?? `no file is like ${pattern}`);
}
