// What may happen while a batch is being written: its callers give up, memory runs short, the disk refuses it.
import { SynclineError } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { HeldDisk } from '../conformance/held-disk.js';
import { at, createJob, createStaffedJob, JOB_ID, TaskWriter } from '../conformance/job-samples.js';
import { isRefused } from '../conformance/refused.js';
import { openEmbeddedJobStore } from './embedded-adapter.js';

/** With memory for one job only. */
async function openIn(world: SimulatedBody) {
  const storage = await world.openStorage('jobs');
  const store = await openEmbeddedJobStore({ ...world, storage }, { cacheBytesMax: 1 });
  await createJob(store, { jobId: 'other' });
  return { store, disk: new HeldDisk(storage) };
}

function inWorld(body: (world: SimulatedBody) => Promise<void>): Promise<void> {
  return runInSimulation(1, body);
}

/** Longer than a call takes unless it is delayed or made to fail. */
const MOMENT_MS = 200;

describe('a call that is aborted while its batch is in flight', () => {
  test('J1 J3 keeps its job in memory: otherwise it would be reloaded in its old state', () =>
    inWorld(async (world) => {
      const { store, disk } = await openIn(world);
      const { writers } = await createStaffedJob(store, { numTasks: 2 });
      for (const writer of writers) await writer.set('a', 1);
      disk.hold();
      const stop = new AbortController();
      const write = at(writers, 0).write('a', 77);
      const call = isRefused(store.setState(write, { signal: stop.signal }), 'aborted');
      await world.clock.sleep(MOMENT_MS);
      stop.abort();
      expect((await call).outcome).toBe('unknown');
      await store.getJob('other');
      await store.getJob(JOB_ID);
      disk.release();
      await world.clock.sleep(MOMENT_MS);
      const again = await store.setState(write);
      const next = await at(writers, 1).set('a', 5);
      if (!again.applied) throw new Error('it names no version');
      expect([again.duplicate, again.state.revision + 1]).toEqual([true, next.revision]);
      await store.getJob('other');
      const { states } = await store.listStates(JOB_ID, {}, { afterRevision: 0, limit: 10 });
      expect(states).toEqual([again.state, next]);
    }));

  test('J1 J3 and so does a call that came before its job was loaded', () =>
    inWorld(async (world) => {
      const { store, disk } = await openIn(world);
      disk.hold();
      const created = createJob(store);
      await world.clock.sleep(MOMENT_MS);
      const stop = new AbortController();
      const labels = { is: 'new' };
      const call = store.updateJob(JOB_ID, { labels }, { signal: stop.signal });
      await world.clock.sleep(MOMENT_MS);
      disk.release();
      disk.hold();
      await created;
      const refused = isRefused(call, 'aborted');
      await world.clock.sleep(MOMENT_MS);
      stop.abort();
      await refused;
      await store.getJob('other');
      await store.getJob(JOB_ID);
      disk.release();
      await world.clock.sleep(MOMENT_MS);
      expect(await store.getJob(JOB_ID)).toMatchObject({ labels, revision: 2 });
    }));

  test('J3 leaves nothing of a deleted job in memory', () =>
    inWorld(async (world) => {
      const { store, disk } = await openIn(world);
      const { writers } = await createStaffedJob(store);
      await at(writers, 0).set('a', 1);
      disk.hold();
      const stop = new AbortController();
      const call = isRefused(store.deleteJob(JOB_ID, { signal: stop.signal }), 'aborted');
      await world.clock.sleep(MOMENT_MS);
      stop.abort();
      await call;
      await store.getJob('other');
      await store.getJob(JOB_ID);
      disk.release();
      await world.clock.sleep(MOMENT_MS);
      expect(await store.getJob(JOB_ID)).toBeUndefined();
      await isRefused(at(writers, 0).send('b', 9), 'not-found');
    }));
});

describe('a batch that fails', () => {
  test('J13 fences no one: its claim does not exist', () =>
    inWorld(async (world) => {
      const { store, disk } = await openIn(world);
      const job = await createJob(store);
      const writer = await TaskWriter.claim(store, job);
      await writer.set('a', 1);
      disk.failure = new SynclineError('storage-full', 'no room', { outcome: 'not-applied' });
      const claim = isRefused(TaskWriter.claim(store, job), 'storage-full');
      await isRefused(writer.send('a', 2), 'storage-full');
      await claim;
      disk.failure = undefined;
      expect((await writer.set('a', 3)).version).toBe(2);
    }));
});

describe('a renewal while the batch in flight declares its lease lost', () => {
  test('J18 waits for it: the lease is held again, not lost a moment later', () =>
    inWorld(async (world) => {
      const { store, disk } = await openIn(world);
      const writer = await TaskWriter.claim(store, await createJob(store), { ttlMs: 1_000 });
      await world.clock.sleep(900);
      disk.hold();
      await world.clock.sleep(900);
      const renewal = writer.act('renew');
      await world.clock.sleep(MOMENT_MS);
      disk.release();
      expect((await renewal).state).toBe('held');
      expect(await store.listLost(JOB_ID)).toEqual([]);
      await world.clock.sleep(900);
      expect(await store.listLost(JOB_ID)).toEqual([]);
    }));
});

describe('a job whose creation is in flight', () => {
  test('J1 J4 does not exist yet, although the storage has it, and is in memory once', () =>
    inWorld(async (world) => {
      const { store, disk } = await openIn(world);
      disk.hold('after');
      const created = createJob(store);
      await world.clock.sleep(MOMENT_MS);
      expect(await store.getJob(JOB_ID)).toBeUndefined();
      expect((await store.listJobs({})).jobs.map(({ job }) => job.jobId)).toEqual(['other']);
      disk.release();
      const job = await created;
      expect(await store.getJob(JOB_ID)).toEqual(job);
      const writer = await TaskWriter.claim(store, job);
      expect((await writer.set('a', 1)).revision).toBe(3);
      expect((await store.getJob(JOB_ID))?.revision).toBe(3);
    }));
});
