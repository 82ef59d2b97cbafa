// Deleting a job of many documents, and dying in the middle of it.
import { Firestore } from '@google-cloud/firestore';
import { createSystemClock } from '@syncline/kernel';
import { startFirestore, type TestFirestore } from '@syncline/testkit/firestore';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { at, createStaffedJob, TaskWriter } from '../conformance/job-samples.js';
import { StreamReader } from '../conformance/stream-reader.js';
import { createFirestoreJobStore } from './firestore-job-store.js';

/** More than one commit removes. */
const MANY_TAGS = 155;
/** The mark; the states; the tasks too. */
const CRASHES_AFTER = [1, 3, 5];

let server: TestFirestore;
beforeAll(async () => {
  server = await startFirestore();
});
afterAll(() => server[Symbol.asyncDispose]());

const open = (projectId: string) =>
  createFirestoreJobStore({ projectId, ...server.settings, pollMs: 50, callTimeoutMs: 60_000 });

/** What Firestore itself still has of it. */
async function documentsOf(projectId: string): Promise<readonly string[]> {
  const client = new Firestore({ projectId, ...server.settings });
  const job = client.doc('jobs/job');
  const names = ['states', 'tasks', 'leases', 'tags'];
  const collections = await Promise.all(names.map((name) => job.collection(name).get()));
  const document = await job.get();
  await client.terminate();
  const all = [...collections.flatMap(({ docs }) => docs), ...(document.exists ? [document] : [])];
  return all.map(({ ref }) => ref.path);
}

async function openWithStates(projectId: string, tags: number) {
  const store = open(projectId);
  const { job, writers } = await createStaffedJob(store, { numTasks: 2 });
  const write = (_: unknown, index: number) => at(writers, index % 2).set(`tag ${index >> 1}`, 1);
  await Promise.all(Array.from({ length: 2 * tags }, write));
  await TaskWriter.claim(store, job, { ttlMs: 60_000 });
  return { store, job };
}

test('a job goes in commits of 300 documents, its own document last', async () => {
  const { store } = await openWithStates('many', MANY_TAGS);
  const before = server.gate.committedCount;
  expect(await store.deleteJob('job')).toBe(true);
  // The mark; 312 states and copies in two; tasks; a lease; tags; the document itself. And a look that finds no more.
  expect(server.gate.committedCount - before).toBe(11);
  expect(await store.deleteJob('job')).toBe(false);
  await store.close();
  expect(await documentsOf('many')).toEqual([]);
});

test.each(CRASHES_AFTER)(
  'after a crash behind commit %i the job is gone, and deleting it again finishes',
  async (commitsLeft) => {
    const projectId = `crash-${commitsLeft}`;
    const { store, job } = await openWithStates(projectId, 2);
    await using reader = new StreamReader({ store, clock: createSystemClock() });
    await reader.untilKind('synced');
    server.gate.setFaults({ commitsLeft });
    await expect(store.deleteJob('job')).rejects.toMatchObject({ code: 'unavailable' });
    server.gate.setFaults({});
    expect(await reader.untilKind('gap')).toMatchObject([{ reason: 'deleted' }]);
    await store.close();
    await using other = open(projectId);
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
    expect(await documentsOf(projectId)).toEqual([]);
  },
);

test.each(CRASHES_AFTER)(
  'after a crash behind commit %i the name can be used again at once, and nothing old shows',
  async (commitsLeft) => {
    const projectId = `again-${commitsLeft}`;
    const { store, job } = await openWithStates(projectId, 2);
    server.gate.setFaults({ commitsLeft });
    await expect(store.deleteJob('job')).rejects.toMatchObject({ code: 'unavailable' });
    server.gate.setFaults({});
    await store.close();
    await using other = open(projectId);
    const created = await other.createJob({ jobId: 'job', numTasks: 1 });
    expect(created).toMatchObject({ created: true, job: { numTasks: 1 } });
    expect(created.job.incarnation).not.toBe(job.incarnation);
    expect((await other.aggregate('job', {})).cells).toMatchObject({ notStarted: 1, total: 1 });
  },
);
