// Deleting a job of many documents, and dying in the middle of it.

import { createSystemClock } from '@syncline/kernel';
import { startFirestore, type TestFirestore } from '@syncline/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { at, createStaffedJob } from '../conformance/job-samples.js';
import { StreamReader } from '../conformance/stream-reader.js';
import { createFirestoreJobStore } from './create-firestore-job-store.js';

const TAGS = 155;

let server: TestFirestore;
beforeAll(async () => {
  server = await startFirestore();
});
afterAll(() => server[Symbol.asyncDispose]());

const open = (projectId: string) =>
  createFirestoreJobStore({ projectId, ...server.settings, pollMs: 50 });

async function openWithStates(projectId: string) {
  const store = open(projectId);
  const { job, writers } = await createStaffedJob(store, { numTasks: 2 });
  const write = (_: unknown, index: number) => at(writers, index % 2).set(`tag ${index >> 1}`, 1);
  await Promise.all(Array.from({ length: 2 * TAGS }, write));
  return { store, job };
}

test('a job goes in commits of 300 documents, its own document last', async () => {
  const { store } = await openWithStates('many');
  const before = server.gate.committedCount;
  expect(await store.deleteJob('job')).toBe(true);
  // The mark; 312 states and tasks in two; the document itself.
  expect(server.gate.committedCount - before).toBe(4);
  expect(await store.deleteJob('job')).toBe(false);
  await store.close();
});

test('after a crash in the middle the job is gone, and deleting it again finishes', async () => {
  const { store, job } = await openWithStates('crash');
  await using reader = new StreamReader({ store, clock: createSystemClock() });
  await reader.untilKind('synced');
  server.gate.setFaults({ commitsLeft: 2 });
  await expect(store.deleteJob('job')).rejects.toMatchObject({ code: 'unavailable' });
  server.gate.setFaults({});
  expect(await reader.untilKind('gap')).toMatchObject([{ reason: 'deleted' }]);
  await store.close();
  await using other = open('crash');
  expect(await other.getJob('job')).toBeUndefined();
  expect((await other.listJobs({})).jobs).toEqual([]);
  const renewal = {
    jobId: 'job',
    incarnation: job.incarnation,
    taskId: 0,
    action: 'renew',
    epoch: 1,
    ttlMs: 0,
    holder: '',
  } as const;
  await expect(other.lease(renewal)).rejects.toMatchObject({ code: 'not-found' });
  expect(await other.deleteJob('job')).toBe(true);
  expect(await other.deleteJob('job')).toBe(false);
});

test('after a crash in the middle the name can be used again at once, and nothing old shows', async () => {
  const { store, job } = await openWithStates('again');
  server.gate.setFaults({ commitsLeft: 2 });
  await expect(store.deleteJob('job')).rejects.toMatchObject({ code: 'unavailable' });
  server.gate.setFaults({});
  await store.close();
  await using other = open('again');
  const created = await other.createJob({ jobId: 'job', numTasks: 1 });
  expect(created).toMatchObject({ created: true, job: { revision: 1, numTasks: 1 } });
  expect(created.job.incarnation).not.toBe(job.incarnation);
  expect((await other.aggregate('job', {})).cells).toMatchObject({ notStarted: 1, total: 1 });
});
