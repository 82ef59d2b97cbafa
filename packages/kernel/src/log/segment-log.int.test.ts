// A segment log on a real disk, and on a small one that is really full.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mountSmallDisk, type SmallDisk } from '@syncline/testkit';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createSystemFiles } from '../files/system-files.js';
import { kernelLimits } from '../limits.js';
import { silentLogger } from '../logger.js';
import { createSystemClock } from '../system-clock.js';
import { appendNumbered, bytes, numbered, openSampleLog } from './sample-log.js';

const MIB = 1024 * 1024;
const world = (root: string) => ({
  files: createSystemFiles(root),
  logger: silentLogger,
  clock: createSystemClock(),
});

async function createRoot() {
  const root = await mkdtemp(join(tmpdir(), 'syncline-log-'));
  return { root, [Symbol.asyncDispose]: () => rm(root, { recursive: true }) };
}

describe('a segment log on a real disk', () => {
  it('K40 is read back after a close, and after a process that did not close it', async () => {
    await using subject = await createRoot();
    const here = world(subject.root);
    const { log } = await openSampleLog(here, { reserveBytes: 3000 });
    appendNumbered(log, 20);
    await log.sync();
    appendNumbered(log, 3);
    const { log: second, replayed } = await openSampleLog(here);
    expect(replayed).toEqual(numbered(1, 23));
    appendNumbered(second, 10);
    await second.dropBefore(14);
    await second.close();
    const third = await openSampleLog(here, { replayFrom: 14, mustBeWhole: true });
    expect(third.replayed).toEqual(numbered(14, 33));
    expect(third.log).toMatchObject({ firstNumber: 13, nextNumber: 34 });
    await third.log.close();
  });

  it('K40 has records of every size around the limits of a write, a chunk and a record', async () => {
    await using subject = await createRoot();
    const here = world(subject.root);
    const { log } = await openSampleLog(here, { segmentBytesMax: 64 * MIB });
    const largest = kernelLimits.logRecordBytesMax.value;
    const chunk = kernelLimits.logReadChunkBytes.value;
    const sizes = [
      10,
      11,
      65_526,
      65_527,
      65_528,
      300_000,
      chunk - 9,
      chunk,
      chunk + 1,
      largest,
      10,
    ];
    const source = new Uint8Array(largest + 1);
    for (let index = 0; index < source.length; index += 1) source[index] = index * 7;
    for (const size of sizes) log.append(1, [source.subarray(0, 10), source.subarray(10, size)]);
    expect(() => log.append(1, [source])).toThrow(
      expect.objectContaining({ code: 'limit-exceeded', details: expect.anything() }),
    );
    await log.close();
    const found: number[] = [];
    const again = await openSampleLog(here, {
      mustBeWhole: true,
      onRecord(_number, _kind, body) {
        expect(Buffer.compare(body.subarray(10), source.subarray(10, body.length))).toBe(0);
        found.push(body.length);
      },
    });
    expect(found).toEqual(sizes);
    await again.log.close();
  });

  it('a torn record at the end of the file is cut off', async () => {
    await using subject = await createRoot();
    const here = world(subject.root);
    const { log } = await openSampleLog(here);
    appendNumbered(log, 9);
    await log.close();
    const newest = `log/${'7'.padStart(16, '0')}.log`;
    await here.files.append(newest, bytes('half a record'));
    const { log: again, replayed } = await openSampleLog(here);
    expect(replayed).toEqual(numbered(1, 9));
    expect(again.cutBytes).toBe('half a record'.length);
    appendNumbered(again, 1);
    await again.close();
    expect((await readFile(join(subject.root, newest))).includes('half')).toBe(false);
    expect((await openSampleLog(here, { mustBeWhole: true })).replayed).toEqual(numbered(1, 10));
  });
});

const mounted = mountSmallDisk(8 * MIB);
if ('reason' in mounted) it.skip(`full disk: ${mounted.reason}`, () => {});
else fullDiskTrials(mounted);

function fullDiskTrials(disk: SmallDisk): void {
  afterAll(() => disk[Symbol.dispose]());
  afterEach(() => disk.empty());
  const noRoom = expect.objectContaining({ code: 'storage-full', outcome: 'not-applied' });
  const body = new Uint8Array(3000).fill(5);
  const whole = { segmentBytesMax: 100_000, mustBeWhole: true, onRecord: () => {} };

  describe('a segment log on a full disk', () => {
    it('K44 refuses records, keeps those it has, and continues when there is space', async () => {
      const here = world(disk.path);
      const { log } = await openSampleLog(here, { segmentBytesMax: 100_000 });
      for (let round = 0; round < 3; round += 1) {
        await disk.fill(500_000);
        let count = 0;
        expect(() => {
          for (;;) count += log.append(1, [body]) > 0 ? 1 : 0;
        }).toThrow(noRoom);
        expect(count).toBeGreaterThan(50);
        const { nextNumber, bytes: bytesBefore } = log;
        for (let attempt = 0; attempt < 5; attempt += 1) {
          expect(() => log.append(1, [body])).toThrow(noRoom);
          expect(log).toMatchObject({ nextNumber, bytes: bytesBefore });
        }
        await log.sync();
        const copy = await openSampleLog(here, whole);
        expect(copy.log).toMatchObject({ nextNumber, bytes: bytesBefore });
        await copy.log.close();
        await disk.free();
        log.append(1, [body]);
      }
      expect(log.segments).toBeGreaterThan(5);
      await log.close();
      const again = await openSampleLog(here, whole);
      expect(again.log.nextNumber).toBe(log.nextNumber);
      await again.log.close();
    });

    it('K44 has a reserve for what must be written, and refills it', async () => {
      const here = world(disk.path);
      const { log } = await openSampleLog(here, { reserveBytes: MIB, segmentBytesMax: 100_000 });
      expect(log.isFullReserve).toBe(true);
      await disk.fill(50_000);
      expect(() => {
        for (;;) log.append(1, [body]);
      }).toThrow(noRoom);
      const { nextNumber } = log;
      for (let n = 0; n < 100; n += 1) log.append(2, [body], { useReserve: true });
      expect(log).toMatchObject({ nextNumber: nextNumber + 100, isFullReserve: false });
      await disk.free();
      await log.dropBefore(nextNumber + 100);
      expect(log.isFullReserve).toBe(true);
      await log.close();
      const again = await openSampleLog(here, { ...whole, replayFrom: nextNumber + 100 });
      expect(again.log.nextNumber).toBe(nextNumber + 100);
      await again.log.close();
    });
  });
}
