// Many leases that expire at the same moment.
import { SynclineError, silentLogger } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { HeldDisk } from '../conformance/held-disk.js';
import { createJob, JOB_ID, TaskWriter } from '../conformance/job-samples.js';
import { openEmbeddedJobStore } from './embedded-adapter.js';

const TASKS = 700;
const TTL_MS = 5_000;

/** A job whose tasks all have leases that expire at the same moment. */
async function crowdIn(world: SimulatedBody) {
  const storage = await world.openStorage('jobs');
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (msg: string) => void warnings.push(msg) };
  const store = await openEmbeddedJobStore({ ...world, storage, logger });
  const job = await createJob(store, { numTasks: TASKS });
  const taskIds = Array.from({ length: TASKS }, (_, taskId) => taskId);
  await Promise.all(
    taskIds.map((taskId) => TaskWriter.claim(store, job, { taskId, ttlMs: TTL_MS })),
  );
  const lostTasks = async () => (await store.aggregate(JOB_ID, {})).lostTasks;
  return { storage, store, disk: new HeldDisk(storage), warnings, lostTasks };
}

describe('leases that end at one moment', () => {
  test('J18 are lost together, in few batches, and do not use up the queue of other writes', () =>
    runInSimulation(1, async (world) => {
      const { store, disk, warnings, lostTasks } = await crowdIn(world);
      await world.clock.sleep(TTL_MS - 500);
      disk.hold();
      await world.clock.sleep(1_000);
      expect([disk.writesCount, store.status().writeQueue]).toEqual([1, 0]);
      disk.release();
      await world.clock.sleep(500);
      expect(await lostTasks()).toBe(TASKS);
      expect(disk.writesCount).toBeLessThan(5);
      expect(warnings).toEqual(Array.from({ length: TASKS }, () => '🟡 a task lost its lease'));
      await store.close();
    }));

  test('are logged once per batch if they were not stored, and are retried', () =>
    runInSimulation(1, async (world) => {
      const { store, disk, warnings, lostTasks } = await crowdIn(world);
      disk.failure = new SynclineError('storage-full', 'no room');
      await world.clock.sleep(TTL_MS + 2_000);
      expect(new Set(warnings)).toEqual(new Set(['🟡 lost leases were not stored']));
      expect(warnings.length).toBeLessThan(10);
      expect(await lostTasks()).toBe(0);
      disk.failure = undefined;
      await world.clock.sleep(1_500);
      expect(await lostTasks()).toBe(TASKS);
      await store.close();
    }));
});

describe('a lease that expires while a batch is in flight', () => {
  async function heldUp(world: SimulatedBody, act: (writer: TaskWriter) => Promise<unknown>) {
    const storage = await world.openStorage('jobs');
    const store = await openEmbeddedJobStore({ ...world, storage });
    const job = await createJob(store);
    const other = await TaskWriter.claim(store, job, { taskId: 1 });
    const writer = await TaskWriter.claim(store, job, { ttlMs: 1_000 });
    const disk = new HeldDisk(storage);
    await world.clock.sleep(700);
    disk.hold();
    const writing = other.set('a', 1);
    await world.clock.sleep(200);
    const acting = act(writer);
    await world.clock.sleep(700);
    disk.release();
    await Promise.all([writing, acting]);
    await world.clock.sleep(200); // its turn has come
    const lost = await store.listLost(JOB_ID);
    await store.close();
    return lost;
  }

  test('J18 is lost when its turn comes', () =>
    runInSimulation(1, async (world) => {
      const lost = await heldUp(world, () => world.clock.sleep(1_000));
      expect(lost).toMatchObject([{ taskId: 0 }]);
    }));

  test('J18 is not lost if it was renewed before its turn', () =>
    runInSimulation(1, async (world) => {
      const renew = async (writer: TaskWriter) => {
        await world.clock.sleep(500);
        return writer.act('renew');
      };
      expect(await heldUp(world, renew)).toEqual([]);
    }));

  test('J18 is not lost if its task writes in the same batch', () =>
    runInSimulation(1, async (world) => {
      expect(await heldUp(world, (writer) => writer.set('a', 1))).toEqual([]);
    }));
});
