// The limits of lists and queues, at their edges.
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { HeldDisk } from '../conformance/held-disk.js';
import { createJob, JOB_ID, TaskWriter } from '../conformance/job-samples.js';
import type { JobStore } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import { openEmbeddedJobStore } from './embedded-adapter.js';

async function openIn(world: SimulatedBody) {
  const storage = await world.openStorage('jobs');
  return { store: await openEmbeddedJobStore({ ...world, storage }), storage };
}

async function staffed(store: JobStore, jobId: string, numTasks: number) {
  const job = await createJob(store, { jobId, numTasks });
  const taskIds = Array.from({ length: numTasks }, (_, taskId) => taskId);
  return Promise.all(
    taskIds.map((taskId) => TaskWriter.claim(store, job, { taskId, ttlMs: 5_000 })),
  );
}

test('J20 a page has listStatesMax states and no more', () =>
  runInSimulation(1, async (world) => {
    const { store } = await openIn(world);
    const max = jobsLimits.listStatesMax.value;
    const writers = await staffed(store, JOB_ID, max + 1);
    await Promise.all(writers.map((writer) => writer.set('a', 1)));
    const page = async (limit: number) => {
      const { states, more } = await store.listStates(JOB_ID, {}, { afterRevision: 0, limit });
      return [states.length, more];
    };
    expect(await page(max - 1)).toEqual([max - 1, true]);
    expect(await page(max)).toEqual([max, true]);
    expect(await page(max + 1)).toEqual([max, true]);
    await store.close();
  }));

test('J20 lostListMax lost leases are listed by name, all are counted', () =>
  runInSimulation(1, async (world) => {
    const { store } = await openIn(world);
    const max = jobsLimits.lostListMax.value;
    for (const numTasks of [max - 1, max, max + 1]) {
      await staffed(store, `job-${numTasks}`, numTasks);
    }
    await world.clock.sleep(7_000);
    for (const numTasks of [max - 1, max, max + 1]) {
      const listed = await store.listLost(`job-${numTasks}`);
      const { lostTasks } = await store.aggregate(`job-${numTasks}`, {});
      expect([listed.length, lostTasks]).toEqual([Math.min(numTasks, max), numTasks]);
    }
    await store.close();
  }));

test('J18 leases that are lost together take a few commits, also when the cache is full', () =>
  runInSimulation(1, async (world) => {
    const storage = await world.openStorage('jobs');
    let commits = 0;
    const observe = (name: string) => {
      if (name === 'syncline_jobs_commit_batch_writes') commits += 1;
    };
    const metrics = { add: () => undefined, set: () => undefined, observe };
    const store = await openEmbeddedJobStore({ ...world, storage, metrics }, { cacheBytesMax: 1 });
    await staffed(store, JOB_ID, 200);
    commits = 0;
    await world.clock.sleep(7_000);
    expect((await store.aggregate(JOB_ID, {})).lostTasks).toBe(200);
    expect(commits).toBeLessThan(5);
    await store.close();
  }));

test('waiting writes are counted in bytes, not in characters', () =>
  runInSimulation(1, async (world) => {
    const { store, storage } = await openIn(world);
    const [writer] = await staffed(store, JOB_ID, 1);
    const disk = new HeldDisk(storage);
    disk.hold();
    const text = '€'.repeat(1_000);
    const first = writer?.set('a', 1);
    await world.clock.sleep(100);
    const second = writer?.set('a', 2, { message: text, payload: { text } });
    await world.clock.sleep(100);
    expect(store.status().writeQueueBytes).toBeGreaterThan(6_000);
    disk.release();
    await Promise.all([first, second]);
    await store.close();
  }));
