// One holder per directory, for real processes: the second one is refused, with the identity of the first.
import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDirectory, mountSmallDisk, startChild } from '@syncline/testkit';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../logger.js';
import { createSystemClock } from '../system-clock.js';
import { claimDirectory } from './claim-directory.js';
import { openLevelStorage } from './level-storage.js';

const deps = { clock: createSystemClock(), logger: silentLogger };

const HOLDERS = {
  claim: (directory: string) => claimDirectory(deps, directory),
  open: (directory: string) => openLevelStorage(deps, { directory }),
};

async function askChild(mode: string, directory: string) {
  await using child = startChild('storage-holder', mode, directory);
  return { pid: child.pid, ...JSON.parse((await child.nextLine()) ?? '') };
}

async function ownerIn(directory: string) {
  return JSON.parse(await readFile(join(directory, 'owner.json'), 'utf8'));
}

for (const mode of ['claim', 'open'] as const) {
  describe(`K19 a directory that is held by ${mode}`, () => {
    const hold = HOLDERS[mode];

    it('is refused to another process with the pid, host and start time of the holder', async () => {
      await using directory = await makeTempDirectory('hold');
      await using child = startChild('storage-holder', mode, directory.path);
      expect(await child.nextLine()).toBe('{"holds":true}');
      const error = await hold(directory.path).catch((thrown) => thrown);
      expect(error.code).toBe('locked');
      expect(error.details.holder).toEqual(await ownerIn(directory.path));
      expect(error.details.holder.pid).toBe(child.pid);
      expect(error.message).toContain(`in use by process ${child.pid} on `);
      expect(error.message).toContain(error.details.holder.startedAt);
    });

    it('is free after a kill -9, though its owner.json is still there', async () => {
      await using directory = await makeTempDirectory('hold');
      await using child = startChild('storage-holder', mode, directory.path);
      expect(await child.nextLine()).toBe('{"holds":true}');
      await child.kill();
      expect((await ownerIn(directory.path)).pid).toBe(child.pid);
      await using _held = await hold(directory.path);
      expect((await ownerIn(directory.path)).pid).toBe(process.pid);
    });

    it('is refused within the process too, and stays refused to others after that', async () => {
      await using directory = await makeTempDirectory('hold');
      const link = `${directory.path}/link`;
      await symlink('real', link);
      await using _held = await hold(`${directory.path}/real`);
      for (const path of [`${directory.path}/real`, link, `${directory.path}/./real/`]) {
        const error = await hold(path).catch((thrown) => thrown);
        expect(error).toMatchObject({ code: 'locked', details: { holder: { pid: process.pid } } });
      }
      expect(await askChild(mode, `${directory.path}/real`)).toMatchObject({
        code: 'locked',
        details: { holder: { pid: process.pid } },
      });
    });

    it.each(['missing', 'garbled'])('is refused also when its owner.json is %s', async (state) => {
      await using directory = await makeTempDirectory('hold');
      await using child = startChild('storage-holder', mode, directory.path);
      expect(await child.nextLine()).toBe('{"holds":true}');
      const path = join(directory.path, 'owner.json');
      await (state === 'missing' ? rm(path) : writeFile(path, '{"pid":"?"'));
      const error = await hold(directory.path).catch((thrown) => thrown);
      expect(error).toMatchObject({ code: 'locked', details: { directory: directory.path } });
      expect(error.message).toContain('another process, which has not identified itself');
    });

    it('can be taken again once it was released, and names no one in between', async () => {
      await using directory = await makeTempDirectory('hold');
      for (let round = 0; round < 3; round += 1) {
        const held = await hold(directory.path);
        await held[Symbol.asyncDispose]();
        await held[Symbol.asyncDispose]();
        await expect(ownerIn(directory.path)).rejects.toThrow('ENOENT');
      }
    });

    it('keeps the name of its holder after it was deleted and created again', async () => {
      await using directory = await makeTempDirectory('hold');
      const path = join(directory.path, 'data');
      const first = await hold(path);
      await rm(path, { recursive: true });
      await using child = startChild('storage-holder', mode, path);
      expect(await child.nextLine()).toBe('{"holds":true}');
      await first[Symbol.asyncDispose]();
      expect((await ownerIn(path)).pid).toBe(child.pid);
    });

    it('goes to exactly one of many that start at the same moment', async () => {
      await using directory = await makeTempDirectory('hold');
      const children = Array.from({ length: 5 }, () =>
        startChild('storage-holder', mode, directory.path),
      );
      const answers = await Promise.all(
        children.map(async ({ pid, nextLine }) => ({
          pid,
          ...JSON.parse((await nextLine()) ?? ''),
        })),
      );
      await Promise.all(children.map((child) => child.kill()));
      const winners = answers.filter(({ holds }) => holds);
      expect(winners.length).toBe(1);
      for (const { code, details } of answers.filter(({ holds }) => !holds)) {
        expect(code).toBe('locked');
        expect(details.holder.pid).toBe(winners[0]?.pid);
      }
    });
  });

  describe(`a directory that cannot be used by ${mode}`, () => {
    const hold = HOLDERS[mode];

    it('below a file is refused with one clear error', async () => {
      await using directory = await makeTempDirectory('hold');
      await writeFile(join(directory.path, 'file'), 'x');
      for (const path of [join(directory.path, 'file'), join(directory.path, 'file', 'below')]) {
        const error = await hold(path).catch((thrown) => thrown);
        expect(error.code).toBe('invalid-argument');
        expect(error.message).toBe(
          `cannot use the directory ${path}: part of the path is a file, not a directory. Choose another path.`,
        );
      }
    });

    it('on a read-only mount is refused with one clear error', async (context) => {
      const disk = mountSmallDisk(16 * 1024 * 1024);
      if ('reason' in disk) return context.skip(disk.reason);
      using _disk = disk;
      await (await hold(join(disk.path, 'used')))[Symbol.asyncDispose]();
      disk.makeReadOnly();
      for (const name of ['new', 'used']) {
        const error = await hold(join(disk.path, name)).catch((thrown) => thrown);
        expect(error.code).toBe('invalid-argument');
        expect(error.message).toContain(`${disk.path}/${name}`);
        expect(error.message).toContain('the file system is read-only. Mount it writable, or');
      }
    });
  });
}
