// A disk that is really full, on a small tmpfs. Plain LevelDB fails these tests: after a refused append it
// acknowledges synced writes that are gone after a restart.
import { join } from 'node:path';
import {
  checkLedger,
  lastInLedger,
  mountSmallDisk,
  type SmallDisk,
  startChild,
} from '@syncline/testkit';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { filesSuite } from '../conformance/files-suite.js';
import { storageSuite } from '../conformance/storage-suite.js';
import { createSystemFiles } from '../files/system-files.js';
import { silentLogger } from '../logger.js';
import { createSystemClock } from '../system-clock.js';
import { openLevelStorage } from './level-storage.js';
import { StorageBatch } from './storage-batch.js';

const MIB = 1024 * 1024;
const deps = { clock: createSystemClock(), logger: silentLogger };
const mounted = mountSmallDisk(160 * MIB);

/** How much space is left when the disk fills up decides what fails first: a log, a table or the manifest. */
const PATTERNS = [
  { durability: 'synced', mebibytesLeft: 0.5, valueBytesMax: 300 },
  { durability: 'synced', mebibytesLeft: 2, valueBytesMax: 3_000 },
  { durability: 'synced', mebibytesLeft: 4, valueBytesMax: 100_000 },
  { durability: 'synced', mebibytesLeft: 14, valueBytesMax: 50_000 },
  { durability: 'buffered', mebibytesLeft: 10, valueBytesMax: 20_000 },
] as const;

if ('reason' in mounted) it.skip(`full disk: ${mounted.reason}`, () => {});
else trials(mounted);

function trials(disk: SmallDisk): void {
  afterAll(() => disk[Symbol.dispose]());
  afterEach(() => disk.empty());
  const directory = join(disk.path, 'db');

  describe('LevelDB storage on a full disk', () => {
    const create = async () => {
      const open = () => openLevelStorage(deps, { directory });
      const storage = await open();
      return {
        storage,
        reopen: open,
        fillDisk: () => disk.fill(0),
        freeDisk: () => disk.free(),
        async [Symbol.asyncDispose]() {
          await disk.free();
          await storage.close();
        },
      };
    };
    const cases = storageSuite(create, { isPersistent: true, canFillDisk: true });
    for (const { name, run } of cases.filter((each) => each.name.includes('K16'))) it(name, run);

    it('K16 says what is free and what is needed, and what to do', async () => {
      await using subject = await create();
      await disk.fill(0);
      const { storage } = subject;
      const error = await storage.write(largeBatch(), { durability: 'synced' }).catch((e) => e);
      expect(error.details).toMatchObject({ bytesFree: 0, directory: expect.any(String) });
      expect(error.details.bytesNeeded).toBeGreaterThan(4 * MIB);
      expect(error.message).toMatch(
        /no space left on its disk \(0\.0 MiB free, \d+\.\d MiB needed\).*no restart is needed/,
      );
      expect(storage.health()).toEqual({ kind: 'full', reason: error.message });
    });
  });

  it('K15 a store that cannot be secured reports it, although LevelDB fails in the background', async () => {
    const storage = await openLevelStorage(deps, { directory });
    for (let round = 0; round < 10; round += 1) {
      await storage.write(largeBatch(), { durability: 'buffered' });
    }
    await disk.fill(0);
    const error = await storage.secure().catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'storage-full' });
    expect(`${error.cause}`).toMatch(/\.ldb: No space left/);
    await disk.free();
    await storage.secure();
    expect(storage.health()).toEqual({ kind: 'ok' });
    await storage.close();
  });

  describe('a process on a disk that fills up', () => {
    it.each(PATTERNS)(
      'K16 loses no $durability write, even if it is killed afterwards ($mebibytesLeft MiB left, values up to $valueBytesMax)',
      async ({ durability, mebibytesLeft, valueBytesMax }) => {
        await using writer = startChild(
          'storage-writer',
          directory,
          durability,
          `${valueBytesMax}`,
        );
        await writer.lineThatStarts('ready');
        const batchBytes = (3 * valueBytesMax) / 2;
        const batches = Math.ceil((mebibytesLeft * MIB) / batchBytes);
        for (let round = 0; round < 2; round += 1) {
          await disk.fill(mebibytesLeft * MIB);
          writer.send(`fill ${batches}`);
          for (let refusal = 0; refusal < 3; refusal += 1) await writer.lineThatStarts('full');
          await disk.free();
          await writer.lineThatStarts('resumed');
          await writer.lineThatStarts('done');
        }
        writer.send('write 1000000');
        const acked = Number((await writer.lineThatStarts('ack')).split(' ')[1]);
        await writer.kill();
        const storage = await openLevelStorage(deps, { directory });
        expect(lastInLedger(storage)).toBeGreaterThanOrEqual(acked);
        await checkLedger(storage);
        await storage.close();
      },
    );
  });

  describe('system files on a full disk', () => {
    const create = async () => ({
      files: createSystemFiles(disk.path),
      fillDisk: () => disk.fill(20_000),
      freeDisk: () => disk.free(),
      [Symbol.asyncDispose]: () => disk.free(),
    });
    const cases = filesSuite(create, { canFillDisk: true });
    for (const { name, run } of cases.filter((each) => each.name.includes('room'))) it(name, run);

    it('K30 an append reports whether it left a prefix', async () => {
      await using subject = await create();
      const { files } = subject;
      await disk.fill(20_000);
      const large = new Uint8Array(MIB);
      const part = await files.append('log', large).catch((thrown) => thrown);
      expect(part).toMatchObject({ code: 'storage-full', outcome: 'unknown' });
      expect((await files.stat('log'))?.bytes).toBeGreaterThan(0);
      const none = await files.append('log', large).catch((thrown) => thrown);
      expect(none).toMatchObject({ code: 'storage-full', outcome: 'not-applied' });
    });
  });
}

function largeBatch(): StorageBatch {
  return new StorageBatch().put(Uint8Array.of(1), new Uint8Array(64 * 1024));
}
