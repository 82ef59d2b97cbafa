// What another process does at the same time, with the job that this one deletes, creates or reads.
import { createSystemClock } from '@syncline/kernel';
import { startFirestore, type TestFirestore } from '@syncline/testkit/firestore';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { at, createJob, createStaffedJob, TaskWriter } from '../conformance/job-samples.js';
import { StreamReader } from '../conformance/stream-reader.js';
import { createFirestoreJobStore, type FirestoreJobStoreOptions } from './firestore-job-store.js';

const clock = createSystemClock();

let server: TestFirestore;
beforeEach(async () => {
  server = await startFirestore();
});
afterEach(() => server[Symbol.asyncDispose]());

const open = (options: Partial<FirestoreJobStoreOptions> = {}) =>
  createFirestoreJobStore({ projectId: 'test', ...server.settings, ...options });

/** Its first commit has taken effect; what it does next waits for `letGo`. */
async function withLateDeletion(call: () => Promise<boolean>) {
  const { gate } = server;
  gate.setFaults({ delayMs: Number.POSITIVE_INFINITY });
  const deletion = call();
  deletion.catch(() => {});
  await expect.poll(() => gate.delayedCount, { interval: 5 }).toBe(1); // it reads the job
  gate.letGo();
  await expect.poll(() => gate.delayedCount, { interval: 5 }).toBe(1); // it commits
  gate.letGo();
  await expect.poll(() => gate.delayedCount, { interval: 5 }).toBe(1);
  gate.setFaults({});
  return { deletion };
}

test('J9 a deletion that completes late does not end subscriptions to the job created since', async () => {
  await using store = open();
  await using other = open();
  await createStaffedJob(store, { numTasks: 1 });
  const { deletion } = await withLateDeletion(() => store.deleteJob('job'));
  await other.deleteJob('job');
  const { writers } = await createStaffedJob(other, { numTasks: 1 });
  await using reader = new StreamReader({ store, clock });
  await reader.untilKind('synced');
  server.gate.letGo();
  expect(await deletion).toBe(true);
  const { revision } = await at(writers, 0).set('ingest', 1);
  await reader.untilRevision(revision);
});

test('a deletion that fails after its first commit says that it may have been applied', async () => {
  await using store = open({ callTimeoutMs: 4_000 });
  await using other = open();
  await createStaffedJob(other, { numTasks: 1 });
  const { deletion } = await withLateDeletion(() => store.deleteJob('job'));
  server.gate.setFaults({ isRefusing: true });
  server.gate.letGo();
  await expect(deletion).rejects.toMatchObject({ outcome: 'unknown' });
  server.gate.setFaults({});
  expect(await store.getJob('job')).toBeUndefined();
});

test('J8 no read shows less than an earlier reply did, including those of createJob and listJobs', async () => {
  await using store = open();
  await using other = open();
  const { writers } = await createStaffedJob(other, { numTasks: 1 });
  await store.aggregate('job', {});
  server.gate.setFaults({ isMute: true });
  const first = await at(writers, 0).set('ingest', 1);
  expect(await createJob(store, { numTasks: 1 })).toMatchObject({ revision: first.revision });
  expect(await store.getJob('job')).toMatchObject({ revision: first.revision });
  const second = await at(writers, 0).set('ingest', 2);
  const { jobs } = await store.listJobs({});
  expect(at(jobs, 0).job).toMatchObject({ revision: second.revision });
  expect(await store.getJob('job')).toMatchObject({ revision: second.revision });
});

test('J19 every process reads the same timestamp of a change', async () => {
  await using store = open();
  await using other = open();
  const job = await createJob(store, { numTasks: 1 });
  const changed = async () => (await other.getJob('job'))?.changedAtMs;
  expect(await changed()).toBe(job.changedAtMs);
  const writer = await TaskWriter.claim(store, job, { ttlMs: 60_000 });
  expect(await changed()).toBe(writer.lease.expiresAtMs - 60_000);
  const state = await writer.set('ingest', 1);
  expect(await other.getState('job', 0, 'ingest')).toEqual(state);
  expect(await changed()).toBe(state.timestampMs);
  await using reader = new StreamReader({ store: other, clock });
  const events = await reader.untilKind('synced');
  expect(events).toMatchObject([{ state }, { kind: 'synced' }]);
  expect(await changed()).toBe(state.timestampMs);
  const { changedAtMs } = await store.updateJob('job', { labels: { a: 'b' } });
  await expect.poll(changed).toBe(changedAtMs);
});
