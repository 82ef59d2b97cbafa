// Creating a job: an atomic get-or-create, and lists of jobs.
import assert from 'node:assert/strict';
import {
  createJob,
  createStaffedJob,
  isRevisionAfter,
  JOB_ID,
  TaskWriter,
} from '../job-samples.js';
import type { CaseContext, Cases } from '../job-store-subject.js';

export const createCases: Cases = {
  'a new job is as requested, at its first revision': newJob,
  'creating a job that exists returns that job': getOrCreate,
  'J15 exactly one of several concurrent creators creates the job, and all see the same numTasks':
    concurrentCreators,
  'an unknown job is undefined for reads and not-found for writes': unknownJob,
  'lists jobs by id, by prefix and in pages': listJobs,
  'lists jobs by their most severe cell': listByWorst,
  "later changes to the caller's objects are not stored": copies,
};

async function newJob({ subject: { store }, capabilities }: CaseContext): Promise<void> {
  const spec = {
    jobId: 'a.b:c-D9',
    numTasks: 2,
    expectedTags: ['é', 'b', 'b'],
    labels: { a: 'x' },
  };
  const { job, created } = await store.createJob(spec);
  const { incarnation, createdAtMs, changedAtMs, revision, ...rest } = job;
  assert.equal(created, true);
  assert.deepEqual(rest, { ...spec, expectedTags: ['b', 'é'] });
  isRevisionAfter(capabilities, revision, { before: 0 });
  assert.match(incarnation, /^[A-Za-z0-9-]+$/);
  assert.ok(createdAtMs > 0 && changedAtMs === createdAtMs, `${createdAtMs}, ${changedAtMs}`);
  assert.deepEqual(await store.getJob(spec.jobId), job);
}

async function getOrCreate({ subject: { store } }: CaseContext): Promise<void> {
  const first = await createJob(store, { numTasks: 3, labels: { team: 'a' } });
  const again = await store.createJob({ jobId: JOB_ID, numTasks: 7, labels: { team: 'b' } });
  assert.deepEqual(again, { job: first, created: false });
}

async function concurrentCreators({ subject: { store } }: CaseContext): Promise<void> {
  const answers = await Promise.all(
    [1, 2, 3, 4, 5].map((numTasks) => store.createJob({ jobId: JOB_ID, numTasks })),
  );
  assert.equal(answers.filter(({ created }) => created).length, 1);
  assert.equal(new Set(answers.map(({ job }) => job.numTasks)).size, 1);
  assert.equal(new Set(answers.map(({ job }) => job.incarnation)).size, 1);
}

async function unknownJob({ subject: { store } }: CaseContext): Promise<void> {
  const notFound = { code: 'not-found' };
  assert.equal(await store.getJob(JOB_ID), undefined);
  assert.equal(await store.deleteJob(JOB_ID), false);
  await assert.rejects(store.updateJob(JOB_ID, { labels: {} }), notFound);
  await assert.rejects(store.markJobDeleted(JOB_ID), notFound);
  await assert.rejects(store.getState(JOB_ID, 0, 'a'), notFound);
  await assert.rejects(store.listStates(JOB_ID, {}, { afterRevision: 0, limit: 1 }), notFound);
  await assert.rejects(store.aggregate(JOB_ID, {}), notFound);
  await assert.rejects(store.listLost(JOB_ID), notFound);
  const job = { ...(await createJob(store, { jobId: 'other' })), jobId: JOB_ID };
  await assert.rejects(TaskWriter.claim(store, job), notFound);
  const events = store.subscribe(JOB_ID, { scope: {} })[Symbol.asyncIterator]();
  await assert.rejects(async () => events.next(), notFound);
}

async function listJobs({ subject: { store } }: CaseContext): Promise<void> {
  for (const jobId of ['b2', 'a1', 'B9', 'b1', 'b3']) await createJob(store, { jobId });
  const idsOf = async (query: Parameters<typeof store.listJobs>[0]) => {
    const { jobs, next } = await store.listJobs(query);
    return { ids: jobs.map(({ job }) => job.jobId), next };
  };
  const all = ['B9', 'a1', 'b1', 'b2', 'b3'];
  assert.deepEqual(await idsOf({}), { ids: all, next: undefined });
  assert.deepEqual(await idsOf({ prefix: 'b' }), { ids: ['b1', 'b2', 'b3'], next: undefined });
  for (const prefix of ['x', 'b\0', 'é'])
    assert.deepEqual(await idsOf({ prefix }), { ids: [], next: undefined });
  const paged: string[] = [];
  for (let after: string | undefined = 'B9'; after !== undefined; ) {
    const { ids, next } = await idsOf({ afterJobId: after, limit: 2 });
    assert.ok(ids.length <= 2, `${ids.length} jobs on a page of 2`);
    paged.push(...ids);
    after = next;
  }
  assert.deepEqual(paged, all.slice(1));
}

async function listByWorst({ subject: { store } }: CaseContext): Promise<void> {
  const statuses = { idle: undefined, busy: 5, done: 2_147_483_647, warned: -2, broken: -1 };
  for (const [jobId, status] of Object.entries(statuses)) {
    const { writers } = await createStaffedJob(store, { jobId, numTasks: 1 });
    if (status !== undefined) await writers[0]?.set('a', status);
  }
  const idsOf = async (worst: 'not-started' | 'running' | 'finished' | 'warned' | 'failed') =>
    (await store.listJobs({ worst })).jobs.map(({ job }) => job.jobId);
  assert.deepEqual(await idsOf('not-started'), ['idle']);
  assert.deepEqual(await idsOf('running'), ['busy']);
  assert.deepEqual(await idsOf('finished'), ['done']);
  assert.deepEqual(await idsOf('warned'), ['warned']);
  assert.deepEqual(await idsOf('failed'), ['broken']);
  const { jobs } = await store.listJobs({ prefix: 'warned' });
  assert.deepEqual(jobs[0]?.cells, {
    notStarted: 0,
    running: 0,
    finished: 0,
    warned: 1,
    failed: 0,
    total: 1,
  });
}

async function copies({ subject: { store } }: CaseContext): Promise<void> {
  const labels = { a: 'given' };
  const expectedTags = ['a'];
  const job = await createJob(store, { labels, expectedTags });
  labels.a = 'changed';
  expectedTags.push('b');
  const writer = await TaskWriter.claim(store, job);
  const payload = { list: [1] };
  await writer.set('a', 1, { payload });
  payload.list.push(2);
  const kept = await store.getJob(JOB_ID);
  assert.deepEqual([kept?.labels, kept?.expectedTags], [{ a: 'given' }, ['a']]);
  assert.deepEqual((await store.getState(JOB_ID, 0, 'a'))?.payload, { list: [1] });
}
