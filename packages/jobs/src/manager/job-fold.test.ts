// The fold equals what the store would return at the same revision: after a replay, changes, a reset, and a resume.
import { afterEach, expect, test } from 'vitest';
import { OpenStores } from '../conformance/open-stores.js';
import type { JobInfo } from '../job.js';
import { defaultState, JobStatus, statusClass } from '../job.js';
import type { Cursor, JobEvent, JobStore, StoreSubscribeOptions } from '../job-store.js';
import { JobFold } from './job-fold.js';

const stores = new OpenStores();
afterEach(() => stores.close());

const INCLUDE = ['lease', 'job'] as const;

async function write(store: JobStore, job: JobInfo, taskId: number, tag: string, status: number) {
  const { jobId, incarnation } = job;
  const claim = { jobId, incarnation, taskId, epoch: 0, ttlMs: 0, holder: 'w' } as const;
  const { epoch } = await store.lease({ ...claim, action: 'claim' });
  const eventId = `${tag}-${taskId}-${status}`;
  const more = { message: `status ${status}`, schemaVersion: 1, eventId };
  await store.setState({ jobId, incarnation, taskId, epoch, tag, status, ...more });
}

/** Applies the events of a stream until its marker has arrived and the fold is complete. */
async function follow(
  store: JobStore,
  fold: JobFold,
  options: Partial<StoreSubscribeOptions> = {},
): Promise<readonly JobEvent[]> {
  const events: JobEvent[] = [];
  for await (const event of store.subscribe('job', { scope: {}, include: INCLUDE, ...options })) {
    fold.apply(event);
    events.push(event);
    if (fold.isWhole && events.some(({ kind }) => kind === 'synced')) break;
  }
  return events;
}

test('in each scope, at each step', async () => {
  for (const scope of [{}, { tag: 'a' }, { taskId: 1 }, { taskId: 1, tag: 'b' }]) {
    await using store = stores.create();
    const { job } = await store.createJob({ jobId: 'job', numTasks: 3, expectedTags: ['a'] });
    await write(store, job, 0, 'a', 2_147_483_647);
    await write(store, job, 1, 'b', 7);
    const fold = new JobFold(job, scope);
    await follow(store, fold, { scope });
    const { lowest, worst, cells, tags } = await store.aggregate('job', scope);
    expect(fold.progress()).toMatchObject({ lowest, worst, cells, tags });
    await store.updateJob('job', { expectedTags: ['a', 'c'] });
    await write(store, job, 1, 'b', -2);
    await follow(store, fold, { scope });
    const now = await store.aggregate('job', scope);
    expect(fold.progress()).toMatchObject({ cells: now.cells, tags: now.tags, worst: now.worst });
  }
});

test('inside a replay it is not complete', async () => {
  await using store = stores.create();
  const { job } = await store.createJob({ jobId: 'job', numTasks: 2 });
  await write(store, job, 0, 'a', 1);
  const fold = new JobFold(job, {});
  const events = await follow(store, fold);
  const again = new JobFold(job, {});
  for (const event of events) {
    expect(again.isWhole).toBe(false);
    again.apply(event);
  }
  expect(again.isWhole).toBe(true);
});

test('a reset starts over, even with another number of tasks', async () => {
  await using store = stores.create();
  const { job } = await store.createJob({ jobId: 'job', numTasks: 4 });
  for (const taskId of [0, 1, 2, 3]) await write(store, job, taskId, 'old', -1);
  const fold = new JobFold(job, {});
  const events = await follow(store, fold);
  const synced = events.at(-1);
  const after = synced !== undefined && 'cursor' in synced ? synced.cursor : ('' as Cursor);
  await store.deleteJob('job');
  const { job: next } = await store.createJob({ jobId: 'job', numTasks: 6 });
  await write(store, next, 5, 'new', 3);
  await store.updateJob('job', { labels: { run: '2' } }); // metadata comes after the state in the replay
  await follow(store, fold, { after });
  const { cells, tags } = await store.aggregate('job', {});
  expect(fold.progress()).toMatchObject({ cells, tags });
  expect(fold.progress().tags.map(({ tag }) => tag)).toEqual(['new']);
});

test('seeded for a resume it is complete once the stream has delivered what it was seeded with', async () => {
  await using store = stores.create();
  const { job } = await store.createJob({ jobId: 'job', numTasks: 2 });
  await write(store, job, 0, 'a', 1);
  const events = await follow(store, new JobFold(job, {}));
  const synced = events.at(-1);
  const after = synced !== undefined && 'cursor' in synced ? synced.cursor : ('' as Cursor);
  await write(store, job, 1, 'a', 5);
  const page = await store.listStates('job', {}, { afterRevision: 0, limit: 100 });
  const fold = new JobFold(job, {});
  fold.seed(page.states, page.revision);
  const resumed = await follow(store, fold, { after });
  expect(resumed[0]).toMatchObject({ kind: 'synced', resumed: true });
  expect(fold.progress().revision).toBeGreaterThanOrEqual(page.revision);
  const { cells, worst } = await store.aggregate('job', {});
  expect(fold.progress()).toMatchObject({ cells, worst });
});

test('after a gap it is not complete until the stream has caught up', () => {
  const job: JobInfo = {
    jobId: 'job',
    incarnation: 'i',
    numTasks: 2,
    expectedTags: [],
    labels: {},
    createdAtMs: 1,
    revision: 1,
    changedAtMs: 1,
  };
  const cursor = 'i:1' as Cursor;
  const changeOf = (taskId: number, status: number, revision: number): JobEvent => {
    const base = defaultState('job', taskId, 'a');
    const state = {
      ...base,
      status,
      statusClass: statusClass(status),
      revision,
      version: revision,
    };
    return { kind: 'change', state, cursor };
  };
  const { finished, started } = JobStatus;
  const fold = new JobFold(job, {});
  fold.apply({ kind: 'synced', revision: 1, cursor, history: 'all', resumed: false });
  for (const event of [changeOf(0, finished, 2), changeOf(1, started, 3)]) fold.apply(event);
  fold.apply({ kind: 'gap', reason: 'overflow', fromRevision: 3, toRevision: 6 });
  fold.apply(changeOf(1, finished, 5));
  // Task 0 runs again since revision 4, but its latest state comes at revision 6.
  expect({ isWhole: fold.isWhole, finished: fold.progress().cells.finished }).toEqual({
    isWhole: false,
    finished: 2,
  });
  fold.apply(changeOf(0, started, 6));
  fold.apply({ kind: 'live', revision: 6, cursor });
  expect({ isWhole: fold.isWhole, finished: fold.progress().cells.finished }).toEqual({
    isWhole: true,
    finished: 1,
  });
});
