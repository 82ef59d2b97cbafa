// Reads past the cache, while others change what is read.
import { Query } from '@google-cloud/firestore';
import { startFirestore, type TestFirestore } from '@syncline/testkit/firestore';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { at, createStaffedJob, TaskWriter } from '../conformance/job-samples.js';
import { createFirestoreJobStore } from './create-firestore-job-store.js';

let server: TestFirestore;
beforeAll(async () => {
  server = await startFirestore();
});
afterAll(() => server[Symbol.asyncDispose]());

const open = (projectId: string) => createFirestoreJobStore({ projectId, ...server.settings });

test('a page of states is of one incarnation, also if the job is created anew under it', async () => {
  await using store = open('pages');
  await using other = open('pages');
  const { writers } = await createStaffedJob(other, { numTasks: 1 });
  await at(writers, 0).set('old', 1);
  await store.getJob('job');
  const { gate } = server;
  gate.setFaults({ delayMs: Number.POSITIVE_INFINITY });
  const page = store.listStates('job', {}, { afterRevision: 0, limit: 10 });
  await expect.poll(() => gate.delayedCount, { interval: 5 }).toBe(1); // it reads the job
  gate.letGo();
  await expect.poll(() => gate.delayedCount, { interval: 5 }).toBe(1); // it reads states
  gate.setFaults({});
  await other.deleteJob('job');
  const again = await createStaffedJob(other, { numTasks: 1 });
  const state = await at(again.writers, 0).set('new', 1);
  gate.letGo();
  const { incarnation } = again.job;
  expect(await page).toMatchObject({ incarnation, states: [state], revision: state.revision });
});

test('few jobs that are wanted among many are found in one query', async () => {
  await using store = open('jobs');
  const create = (_: unknown, index: number) =>
    store.createJob({ jobId: `job-${index + 10}`, numTasks: 1 });
  const created = await Promise.all(Array.from({ length: 20 }, create));
  const { job } = at(created, -1);
  const writer = await TaskWriter.claim(store, job);
  await writer.set('ingest', -1);
  const get = vi.spyOn(Query.prototype, 'get');
  const { jobs } = await store.listJobs({ worst: 'failed', limit: 1 });
  expect(jobs.map((found) => found.job.jobId)).toEqual([job.jobId]);
  expect(get).toHaveBeenCalledTimes(1);
  get.mockRestore();
});
