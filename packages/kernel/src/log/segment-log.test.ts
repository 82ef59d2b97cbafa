// What a segment log does while nothing goes wrong, and what it refuses. Crashes are tested in
// segment-log-crash.sim.test.ts, a real disk in segment-log.int.test.ts.
import { expect, test, vi } from 'vitest';
import { SynclineError } from '../error.js';
import { createSeededRandom } from '../seeded-random.js';
import { type DiskOperation, SeededDiskPlan, type Verdict } from '../sim/disk/disk-plan.js';
import { runInSimulation } from '../sim/run-in-simulation.js';
import { appendNumbered, bytes, contentOf, numbered, openSampleLog } from './sample-log.js';

const segmentName = (first: number) => `${String(first).padStart(16, '0')}.log`;

test('a new log is one segment without records', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world);
    expect(log).toMatchObject({ firstNumber: 1, nextNumber: 1, syncedThrough: 0 });
    expect(log).toMatchObject({ segments: 1, cutBytes: 0, isFullReserve: true });
    await log.close();
    expect((await world.files.list('log')).length).toBe(1);
    const { log: again, replayed } = await openSampleLog(world, { mustBeWhole: true });
    expect([again.nextNumber, replayed]).toEqual([1, []]);
    await again.close();
  }));

test('K40 records come back in order, with number, kind and body', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world);
    expect(log.append(0, [])).toBe(1);
    expect(log.append(7, [bytes('one'), bytes(''), bytes(' body')])).toBe(2);
    expect(log.append(255, [bytes('x'.repeat(500))])).toBe(3);
    await log.close();
    const { log: again, replayed } = await openSampleLog(world, { mustBeWhole: true });
    expect(replayed).toEqual(['1:0:', '2:7:one body', `3:255:${'x'.repeat(500)}`]);
    expect(again).toMatchObject({ firstNumber: 1, nextNumber: 4, syncedThrough: 3, cutBytes: 0 });
    expect(again.append(1, [bytes('next')])).toBe(4);
    await again.close();
  }));

test('a full segment is followed by a new one, and the chain continues', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world);
    appendNumbered(log, 20);
    expect(log.segments).toBe(4);
    await log.close();
    const names = await world.files.list('log');
    expect(names).toEqual([1, 7, 13, 19].map(segmentName));
    const sizes = await Promise.all(names.map((name) => world.files.stat(`log/${name}`)));
    expect(log.bytes).toBe(sizes.reduce((sum, stat) => sum + (stat?.bytes ?? 0), 0));
    const { log: again, replayed } = await openSampleLog(world, { mustBeWhole: true });
    expect(replayed).toEqual(numbered(1, 20));
    expect(again.bytes).toBe(log.bytes);
    appendNumbered(again, 20);
    await again.close();
    expect((await openSampleLog(world, { mustBeWhole: true })).replayed).toEqual(numbered(1, 40));
  }));

test('replay starts at any record, and segments before it are not read', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world);
    appendNumbered(log, 20);
    await log.close();
    const first = world.files.openAppend(`log/${segmentName(1)}`);
    first.truncate(3);
    await first.close();
    for (let replayFrom = 7; replayFrom <= 21; replayFrom += 1) {
      const { log: again, replayed } = await openSampleLog(world, {
        replayFrom,
        mustBeWhole: true,
      });
      expect(replayed).toEqual(numbered(replayFrom, 20));
      expect(again).toMatchObject({ firstNumber: 1, nextNumber: 21, segments: 4 });
      await again.close();
    }
  }));

test('K41 a sync covers what was appended before it, and later callers share the next one', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world);
    appendNumbered(log, 15);
    const first = log.sync();
    appendNumbered(log, 10);
    const operationsCount = world.node.disk.operationsCount;
    const second = log.sync();
    const third = log.sync();
    expect(third).toBe(second);
    expect(log.syncedThrough).toBe(0);
    await first;
    expect(log.syncedThrough).toBe(15);
    await second;
    expect(log.syncedThrough).toBe(25);
    // The directory, with the names of all segments, then the segments from 13, 19 and 25 on.
    expect(world.node.disk.operationsCount - operationsCount).toBe(4);
    await log.sync();
    expect(world.node.disk.operationsCount - operationsCount).toBe(4);
    await log.close();
  }));

test('K41 one sync runs at a time, even for a caller that comes right after one has ended', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world);
    appendNumbered(log, 1);
    const first = log.sync();
    appendNumbered(log, 1);
    const second = log.sync();
    const late = first.then(() => log.sync()); // the second one has not started yet
    await first;
    expect(log.syncedThrough).toBe(1);
    const { operationsCount } = world.node.disk;
    await Promise.all([second, late]);
    expect(log.syncedThrough).toBe(2);
    expect(world.node.disk.operationsCount - operationsCount).toBe(1);
    await log.close();
  }));

test('dropBefore removes whole segments and keeps the newest', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world);
    appendNumbered(log, 20);
    await log.dropBefore(6);
    expect(log).toMatchObject({ firstNumber: 1, segments: 4, syncedThrough: 20 });
    await Promise.all([log.dropBefore(7), log.dropBefore(12)]);
    expect(log).toMatchObject({ firstNumber: 7, segments: 3 });
    appendNumbered(log, 1);
    await log.dropBefore(1000);
    expect(log).toMatchObject({ firstNumber: 19, segments: 1, nextNumber: 22 });
    await log.close();
    const { replayed } = await openSampleLog(world, { replayFrom: 19, mustBeWhole: true });
    expect(replayed).toEqual(numbered(19, 21));
  }));

test('bytesFrom counts from about the given record on', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world, { segmentBytesMax: 4_000_000 });
    for (let n = 0; n < 1000; n += 1) log.append(1, [new Uint8Array(9991)]); // 10,000 bytes each
    expect(log.segments).toBe(3);
    const check = (number: number) => {
      const exact = (1001 - number) * 10_000;
      expect(log.bytesFrom(number)).toBeGreaterThanOrEqual(exact);
      expect(log.bytesFrom(number)).toBeLessThan(exact + 256 * 1024 + 10_000 + 100);
    };
    for (const number of [1, 2, 27, 400, 401, 402, 750, 999, 1000]) check(number);
    expect(log.bytesFrom(1001)).toBe(0);
    expect(log.bytesFrom(1)).toBeLessThanOrEqual(log.bytes);
    await log.close();
    const { log: again } = await openSampleLog(world, { replayFrom: 600, onRecord: () => {} });
    expect(again.bytesFrom(900)).toBe(log.bytesFrom(900));
    expect(again.bytesFrom(1001)).toBe(0);
    await again.close();
  }));

test('open reports its progress and waits for the caller between chunks', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world, { segmentBytesMax: 2_000_000 });
    for (let n = 0; n < 50; n += 1) log.append(1, [new Uint8Array(100_000)]);
    await log.close();
    const steps: number[] = [];
    await openSampleLog(world, {
      onRecord: () => {},
      async onProgress(readBytes, totalBytes) {
        expect(totalBytes).toBe(log.bytes);
        steps.push(readBytes);
        await world.clock.sleep(10);
      },
    });
    expect(steps.length).toBeGreaterThanOrEqual(5);
    expect(steps).toEqual(steps.toSorted((left, right) => left - right));
    expect(steps.at(-1)).toBeGreaterThan(log.bytes - 200);
  }));

test('an error of onRecord rejects the open, and nothing has changed', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world);
    appendNumbered(log, 20);
    await log.close();
    const before = await contentOf(world);
    const onRecord = (number: number) => {
      if (number === 9) throw new Error('cannot apply');
    };
    await expect(openSampleLog(world, { onRecord })).rejects.toThrow('cannot apply');
    expect(await contentOf(world)).toEqual(before);
  }));

test('a closed log refuses everything, and can be closed twice', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world);
    appendNumbered(log, 1);
    await Promise.all([log.close(), log.close()]);
    expect(() => log.append(1, [])).toThrow(expect.objectContaining({ code: 'closed' }));
    await expect(log.dropBefore(1)).rejects.toMatchObject({ code: 'closed' });
    await log.sync(); // everything is durable
  }));

test('K43 a log that lost its beginning is refused and not changed', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world);
    appendNumbered(log, 20);
    await log.dropBefore(13);
    await log.close();
    const before = await contentOf(world);
    const error = await openSampleLog(world, { replayFrom: 9 }).catch(
      (thrown: SynclineError) => thrown,
    );
    expect(error).toMatchObject({ code: 'corrupt', details: { reason: 'missing', replayFrom: 9 } });
    expect((error as SynclineError).message).toContain(
      'records 9 to 12 of the log in log are missing',
    );
    expect(await contentOf(world)).toEqual(before);
    const empty = openSampleLog(world, { directory: 'other', replayFrom: 2 });
    await expect(empty).rejects.toMatchObject({ code: 'corrupt', details: { reason: 'missing' } });
  }));

test('K43 a log of another owner is refused and not changed, even if it is damaged before', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world);
    appendNumbered(log, 20);
    await log.close();
    const first = world.files.openAppend(`log/${segmentName(1)}`);
    first.truncate(100);
    await first.close();
    const before = await contentOf(world);
    const other = openSampleLog(world, { owner: bytes('node 2') });
    await expect(other).rejects.toMatchObject({ code: 'corrupt', details: { reason: 'owner' } });
    expect(await contentOf(world)).toEqual(before);
  }));

test('K44 K46 an append on a full disk changes nothing, and writing resumes once there is space', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world);
    const full = { code: 'storage-full', outcome: 'not-applied' };
    const { disk } = world.node;
    disk.adjust({ isFull: true });
    expect(() => appendNumbered(log, 1)).toThrow(expect.objectContaining(full));
    disk.adjust({ isFull: false });
    appendNumbered(log, 6); // the next one begins a new segment
    const { bytes: bytesBefore } = log;
    disk.adjust({ isFull: true });
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect(() => appendNumbered(log, 1)).toThrow(expect.objectContaining(full));
      expect(log).toMatchObject({ nextNumber: 7, bytes: bytesBefore, segments: 1 });
    }
    disk.adjust({ isFull: false });
    appendNumbered(log, 3);
    await log.close();
    expect((await openSampleLog(world, { mustBeWhole: true })).replayed).toEqual(numbered(1, 9));
  }));

test('K41 K46 a log that was opened on a full disk has a second segment only once the first is durable', () =>
  runInSimulation(1, async (world) => {
    const { disk } = world.node;
    await world.files.makeDir('log');
    disk.adjust({ isFull: true });
    const { log } = await openSampleLog(world);
    expect(log.segments).toBe(0);
    disk.adjust({ isFull: false });
    appendNumbered(log, 20);
    expect(log.segments).toBe(1);
    await log.sync();
    log.append(1, [bytes('x'.repeat(2 ** 20))]); // rotation is retried after this much
    appendNumbered(log, 1);
    expect(log.segments).toBe(2);
    await log.close();
  }));

test('K44 an append with useReserve releases the reserve, which is refilled later', () =>
  runInSimulation(1, async (world) => {
    const reserveBytes = 2_500_000;
    const { log } = await openSampleLog(world, { reserveBytes });
    expect(log.isFullReserve).toBe(true);
    expect((await world.files.stat('log/reserve'))?.bytes).toBe(reserveBytes);
    world.node.disk.plan = new FullUntilTruncated();
    expect(() => appendNumbered(log, 1)).toThrow(expect.objectContaining({ code: 'storage-full' }));
    expect(log.append(1, [bytes('last words')], { useReserve: true })).toBe(1);
    expect(log.isFullReserve).toBe(false);
    for (const [waitMs, expected] of [
      [0, 1_048_576],
      [10, 1_048_576],
      [1_000, 2_097_152],
      [1_000, reserveBytes],
    ] as const) {
      await world.clock.sleep(waitMs);
      await log.sync();
      expect((await world.files.stat('log/reserve'))?.bytes).toBe(expected);
    }
    expect(log.isFullReserve).toBe(true);
    await log.close();
    const { log: smaller } = await openSampleLog(world, { reserveBytes: 1000 });
    expect((await world.files.stat('log/reserve'))?.bytes).toBe(1000);
    await smaller.close();
    const { log: without } = await openSampleLog(world);
    expect(await world.files.stat('log/reserve')).toBeUndefined();
    await without.close();
  }));

test('K44 the rest of the reserve is kept for appends that may use it', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world, { reserveBytes: 2_500_000 });
    const disk = new FullUntilTruncated();
    world.node.disk.plan = disk;
    log.append(1, [bytes('a')], { useReserve: true });
    disk.isFull = true;
    expect(() => appendNumbered(log, 1)).toThrow(expect.objectContaining({ code: 'storage-full' }));
    disk.isFull = false;
    log.append(1, [bytes('b')], { useReserve: true });
    expect(() => appendNumbered(log, 1)).toThrow(expect.objectContaining({ code: 'storage-full' }));
    await world.clock.sleep(1_000);
    expect(log.append(1, [bytes('c')])).toBe(3);
    expect(log.isFullReserve).toBe(true);
    await log.close();
  }));

test.each(['failed', 'no-descriptors'] as const)(
  'K46 a new segment that cannot be opened (%s)',
  async (verdict) => {
    await runInSimulation(1, async (world) => {
      const { log } = await openSampleLog(world);
      appendNumbered(log, 6);
      const plan = new JudgingPlan(({ kind }) => (kind === 'handle-open' ? verdict : 'ok'));
      world.node.disk.plan = plan;
      if (verdict === 'failed') {
        expect(() => appendNumbered(log, 1)).toThrow(
          expect.objectContaining({ code: 'storage-failed' }),
        );
        return;
      }
      appendNumbered(log, 100);
      expect(log.segments).toBe(1);
      expect(plan.count('handle-open')).toBe(1); // not at every append
      world.node.disk.plan = new JudgingPlan(() => 'ok');
      log.append(1, [new Uint8Array(1024 * 1024)]);
      appendNumbered(log, 1);
      expect(log.segments).toBe(2);
      await log.close();
    });
  },
);

test('K46 a sync that has no descriptor for the directory can be retried', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world);
    const syncDir = vi.spyOn(world.files, 'syncDir');
    syncDir.mockRejectedValue(new SynclineError('unavailable', 'too many open files'));
    appendNumbered(log, 8);
    expect(log.segments).toBe(2);
    await expect(log.sync()).rejects.toMatchObject({ code: 'unavailable' });
    expect(log.syncedThrough).toBe(0);
    appendNumbered(log, 1);
    syncDir.mockRestore();
    await log.sync();
    expect(log.syncedThrough).toBe(9);
    await log.close();
  }));

test('K46 a segment that got no record is removed before the next one is begun', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world);
    appendNumbered(log, 6);
    world.node.disk.plan = new JudgingPlan(({ kind }) => (kind === 'handle-write' ? 'full' : 'ok'));
    expect(() => appendNumbered(log, 1)).toThrow(expect.objectContaining({ code: 'storage-full' }));
    world.node.disk.plan = new JudgingPlan(() => 'ok');
    const large = new Uint8Array(1024 * 1024);
    for (let n = 0; n < 2; n += 1) log.append(1, [large]);
    expect(log.segments).toBe(1);
    expect(await world.files.list('log')).toEqual([segmentName(1), segmentName(7)]);
    await log.sync();
    expect(await world.files.list('log')).toEqual([segmentName(1)]);
    log.append(1, [large]);
    expect(log.segments).toBe(2);
    await log.close();
    expect(await world.files.list('log')).toEqual([segmentName(1), segmentName(9)]);
    const numbers: number[] = [];
    const onRecord = (number: number) => void numbers.push(number);
    await openSampleLog(world, { mustBeWhole: true, onRecord });
    expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  }));

test('K44 a log whose very first record hit a full disk is empty, and stays usable', () =>
  runInSimulation(1, async (world) => {
    const noRoom = new JudgingPlan(({ kind }) => (kind === 'handle-write' ? 'full' : 'ok'));
    world.node.disk.plan = noRoom;
    const { log } = await openSampleLog(world);
    expect(await world.files.list('log')).toEqual([]);
    expect(() => appendNumbered(log, 1)).toThrow(expect.objectContaining({ code: 'storage-full' }));
    await log.sync();
    expect(() => appendNumbered(log, 1)).toThrow(expect.objectContaining({ code: 'storage-full' }));
    expect(noRoom.count('handle-open'), 'at the start, then once').toBe(2);
    expect(log).toMatchObject({ segments: 0, nextNumber: 1, bytes: 0 });
    await log.close();
    expect(await world.files.list('log')).toEqual([]);
    world.node.disk.plan = new JudgingPlan(() => 'ok');
    const { log: again } = await openSampleLog(world, { mustBeWhole: true });
    appendNumbered(again, 1);
    await again.close();
  }));

test('K44 a log can be opened, and cut, on a full disk', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world);
    appendNumbered(log, 8);
    await log.close();
    const last = world.files.openAppend(`log/${segmentName(7)}`);
    last.truncate(last.length - 1);
    world.node.disk.adjust({ isFull: true });
    const { log: again, replayed } = await openSampleLog(world, { reserveBytes: 1000 });
    expect(replayed).toEqual(numbered(1, 7));
    expect(again.isFullReserve).toBe(false);
    world.node.disk.adjust({ isFull: false });
    appendNumbered(again, 1);
    await again.sync();
    expect(again.isFullReserve).toBe(true);
    await again.close();
  }));

test('K46 segments that wait for a sync are limited, then the newest one grows', () =>
  runInSimulation(1, async (world) => {
    const { log } = await openSampleLog(world);
    appendNumbered(log, 200);
    expect(log.segments).toBe(17);
    await log.sync();
    log.append(1, [new Uint8Array(1024 * 1024)]);
    appendNumbered(log, 1);
    expect(log.segments).toBe(18);
    await log.close();
  }));

test.each(['sync', 'handle-write', 'handle-truncate', 'sync-names'] as const)(
  'K45 after a failed %s the log always throws the same error',
  async (failing) => {
    await runInSimulation(1, async (world) => {
      const { log } = await openSampleLog(world, { segmentBytesMax: 100 });
      appendNumbered(log, 3); // two segments
      world.node.disk.plan = new JudgingPlan(({ kind }) => {
        if (kind === failing) return 'failed';
        return failing === 'handle-truncate' && kind === 'handle-write' ? 'full' : 'ok';
      });
      const attempt = async () => {
        log.append(1, [bytes('x')]);
        await log.sync();
      };
      const error = await attempt().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'storage-failed', outcome: 'unknown', retryable: false });
      world.node.disk.plan = new JudgingPlan(() => 'ok');
      expect(() => log.append(1, [])).toThrow(error);
      for (const call of [() => log.sync(), () => log.dropBefore(1), () => log.close()]) {
        expect(await call().catch((thrown: unknown) => thrown)).toBe(error);
      }
      expect(log.syncedThrough).toBe(0);
    });
  },
);

class JudgingPlan extends SeededDiskPlan {
  readonly #judge: (operation: DiskOperation) => Verdict;
  readonly #kinds: string[] = [];

  constructor(judge: (operation: DiskOperation) => Verdict) {
    super(createSeededRandom(1));
    this.#judge = judge;
  }

  count(kind: string): number {
    return this.#kinds.filter((each) => each === kind).length;
  }

  override verdict(operation: DiskOperation): Verdict {
    this.#kinds.push(operation.kind);
    return this.#judge(operation);
  }
}

/** Has space again once the reserve was truncated. */
class FullUntilTruncated extends SeededDiskPlan {
  isFull = true;

  constructor() {
    super(createSeededRandom(1));
  }

  override verdict({ kind, subject }: DiskOperation): Verdict {
    if (kind === 'handle-truncate' && subject === 'log/reserve') this.isFull = false;
    return this.isFull && kind === 'handle-write' ? 'full' : 'ok';
  }
}
