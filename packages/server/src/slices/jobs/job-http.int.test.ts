// Jobs over HTTP, on a real server with jobs in memory: lists, one job, its states, deletion, and what is refused.
import { createMemoryJobStore, type JobStore } from '@syncline/jobs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/test-server.js';
import { writeStates } from '../../testing/write-states.js';
import { sliceOver } from './testing/slice-over.js';

async function serve(store: JobStore): Promise<TestServer & { get: Asker; remove: Asker }> {
  const server = await startTestServer([sliceOver(store)]);
  const ask =
    (method: string): Asker =>
    async (path) => {
      const url = `http://127.0.0.1:${server.port('http')}/api/jobs${path}`;
      const response = await fetch(url, { method });
      return { status: response.status, body: await response.json() };
    };
  return Object.assign(server, { get: ask('GET'), remove: ask('DELETE') });
}

type Asker = (path: string) => Promise<{ status: number; body: unknown }>;

test('a list by pages, by prefix and by the worst class', async () => {
  const store = createMemoryJobStore();
  await using server = await serve(store);
  for (const jobId of ['a-1', 'a-2', 'b-1']) await store.createJob({ jobId, numTasks: 2 });
  await writeStates(store, 'a-2', [{ taskId: 0, tag: 'ingest', status: -1, message: '🔴 no' }]);
  const idsOf = async (query: string) => {
    const { body } = await server.get(query);
    const { jobs, next } = body as { jobs: { job: { jobId: string } }[]; next?: string };
    return { ids: jobs.map(({ job }) => job.jobId), next };
  };
  expect(await idsOf('')).toEqual({ ids: ['a-1', 'a-2', 'b-1'] });
  expect(await idsOf('?prefix=a-')).toEqual({ ids: ['a-1', 'a-2'] });
  expect(await idsOf('?worst=failed')).toEqual({ ids: ['a-2'] });
  expect(await idsOf('?limit=2')).toEqual({ ids: ['a-1', 'a-2'], next: 'a-2' });
  expect(await idsOf('?limit=2&after=a-2')).toEqual({ ids: ['b-1'] });
});

test('one job: its metadata, its progress, its lost tasks; a scope on request', async () => {
  const store = createMemoryJobStore();
  await using server = await serve(store);
  await store.createJob({ jobId: 'nightly', numTasks: 2, labels: { team: 'data' } });
  await writeStates(store, 'nightly', [
    { taskId: 0, tag: 'ingest', status: 5, message: 'page 5' },
    { taskId: 1, tag: 'ingest', status: 2_147_483_647, message: '⚫ Finished' },
  ]);
  expect(await server.get('/nightly')).toMatchObject({
    status: 200,
    body: {
      job: { jobId: 'nightly', numTasks: 2, labels: { team: 'data' } },
      progress: { percent: 50, lowest: { message: 'page 5' }, tags: [{ tag: 'ingest' }] },
      lost: [],
    },
  });
  expect(await server.get('/nightly?task=1&tag=ingest')).toMatchObject({
    body: { progress: { percent: 100, cells: { total: 1 } } },
  });
});

test('states by pages, in order of revisions', async () => {
  const store = createMemoryJobStore();
  await using server = await serve(store);
  await store.createJob({ jobId: 'nightly', numTasks: 3 });
  const tasks = [0, 1, 2].map((taskId) => ({ taskId, tag: 'ingest', status: 1, message: '' }));
  await writeStates(store, 'nightly', tasks);
  const first = await server.get('/nightly/states?limit=2');
  expect(first.body).toMatchObject({ more: true, states: [{ taskId: 0 }, { taskId: 1 }] });
  const { revision } = first.body as { revision: number };
  const second = await server.get(`/nightly/states?limit=2&afterRevision=${revision}`);
  expect(second.body).toMatchObject({ more: false, states: [{ taskId: 2 }] });
});

test('a deletion: marked first, then for good, then unknown', async () => {
  const store = createMemoryJobStore();
  await using server = await serve(store);
  await store.createJob({ jobId: 'nightly', numTasks: 1 });
  expect(await server.remove('/nightly?mark')).toEqual({
    status: 200,
    body: { applied: true, revision: 2 },
  });
  expect((await server.get('/nightly')).body).toHaveProperty('job.deletedAtMs');
  expect(await server.remove('/nightly')).toMatchObject({ status: 200, body: { applied: true } });
  for (const answer of [await server.remove('/nightly'), await server.get('/nightly')])
    expect(answer).toMatchObject({ status: 404, body: { code: 'not-found' } });
});

describe('a query that is not understood', () => {
  let server: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => {
    const store = createMemoryJobStore();
    server = await serve(store);
    await store.createJob({ jobId: 'nightly', numTasks: 1 });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test.each([
    ['/nightly?taks=0', 'taks'],
    ['/nightly?task=0&task=1', 'task'],
    ['/nightly?task=one', 'task'],
    ['/nightly?task=100000', 'task'],
    ['/nightly?task=1', 'taskId'],
    ['/nightly?tag=%07', 'tag'],
    ['?worst=bad', 'worst'],
    ['?limit=0', 'limit'],
    ['?limit=1001', 'limit'],
    ['/nightly/states?afterRevision=-1', 'afterRevision'],
    ['/nightly/states?limit=1001', 'limit'],
    ['/nightly/events?include=all', 'include'],
    ['/nightly/events?after=nonsense', 'after'],
    ['/-nightly', 'jobId'],
  ])('%s is refused for its %s', async (path, field) => {
    expect(await server.get(path)).toMatchObject({
      status: 400,
      body: { code: 'invalid-argument', details: { field } },
    });
  });
});

test('a mistyped mark deletes nothing', async () => {
  const store = createMemoryJobStore();
  await using server = await serve(store);
  await store.createJob({ jobId: 'nightly', numTasks: 1 });
  for (const query of ['?makr', '?mark=no'])
    expect((await server.remove(`/nightly${query}`)).status).toBe(400);
  expect((await server.get('/nightly')).body).not.toHaveProperty('job.deletedAtMs');
});
