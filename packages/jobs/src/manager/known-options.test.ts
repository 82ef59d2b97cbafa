import { afterEach, expect, test } from 'vitest';
import { OpenStores } from '../conformance/open-stores.js';
import { createJobManager } from './create-job-manager.js';
import type { JobManager } from './job-manager.js';

const stores = new OpenStores();
afterEach(() => stores.close());

const names = { jobId: 'nightly', taskIndex: 0, numTasks: 1 };

test.each<[object, object, string, string]>([
  [{ tags: {} }, {}, 'tags', 'store, jobId, taskIndex, numTasks'],
  [{}, { onNumTaskMismatch: 'fail' }, 'onNumTaskMismatch', 'onNumTasksMismatch'],
  [{}, { lease: { ttl: 5_000 } }, 'ttl', 'ttlMs, heartbeat'],
  [{}, { retry: { retries: 9 } }, 'retries', 'initialMs, maxMs'],
  [{}, { toString: 1 }, 'toString', 'labels'],
  [{}, { tags: { ingest: { shema: {} } } }, 'shema', 'Did you mean "schema"'],
])(
  'an unknown name is refused with the nearest or all known ones: %j %j',
  async (target, options, field, known) => {
    const store = stores.create();
    await expect(createJobManager({ store, ...names, ...target }, options)).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringContaining(known),
      details: { field },
    });
    expect((await store.listJobs({})).jobs).toEqual([]);
  },
);

test('a missing store is refused', async () => {
  const target = names as Parameters<typeof createJobManager>[0];
  await expect(createJobManager(target)).rejects.toThrow(
    /^store is undefined; expected a job store/,
  );
});

test('a task that a new job would not have is refused', async () => {
  const target = { store: stores.create(), ...names, taskIndex: 1 };
  await expect(createJobManager(target)).rejects.toThrow(
    'taskIndex is 1; expected a number below numTasks, which is 1, since tasks are counted from 0',
  );
});

test('all known names are accepted', async () => {
  const store = stores.create();
  await using job = await createJobManager(
    { store, ...names },
    {
      tags: { ingest: {} },
      statuses: { parsing: 20 },
      labels: {},
      timeoutMs: 60_000,
      retry: { initialMs: 100, maxMs: 3_000 },
      lease: { ttlMs: 5_000, heartbeat: 'manual' },
      onNumTasksMismatch: 'fail',
    },
  );
  expect(job.info.expectedTags).toEqual(['ingest']);
});

test.each<[string, (job: JobManager) => Promise<unknown>, string]>([
  ['a write', (job) => job.setState({ tag: 'a', status: 1, ifVerison: 4 } as never), 'ifVerison'],
  ['setStarted', (job) => job.setStarted({ tag: 'a', mesage: 'x' } as never), 'mesage'],
  ['subscribe', (job) => firstOf(job.subscribe({ overFlow: 'fail' } as never)), 'overFlow'],
  ['a buffer', (job) => firstOf(job.subscribe({ buffer: { max: 9 } } as never)), 'max'],
  ['a scope', (job) => job.getProgress({ task: 3 } as never), 'task'],
  ['waitFor', (job) => job.waitFor({ tags: 'a' } as never, () => true), 'tags'],
  ['updateJob', (job) => job.updateJob({ label: {} } as never), 'label'],
  ['a call', (job) => job.setStarted({ tag: 'a' }, { timeoutMs: 5 } as never), 'timeoutMs'],
  ['a read', (job) => job.getState({}, { timeoutMs: 5 } as never), 'timeoutMs'],
  ['a job-wide write', (job) => job.updateJob({ labels: {} }, { sginal: 1 } as never), 'sginal'],
  ['a heartbeat', (job) => job.heartbeat({ ttlMs: 9 } as never), 'ttlMs'],
])('%s with an unknown option is refused, and changes nothing', async (_, call, field) => {
  const store = stores.create();
  await using job = await createJobManager({ store, ...names });
  const before = job.info.revision;
  await expect(call(job)).rejects.toMatchObject({ code: 'invalid-argument', details: { field } });
  const { states } = await store.listStates('nightly', {}, { afterRevision: 0, limit: 10 });
  expect([states, job.info.revision]).toEqual([[], before]);
});

test.each<[string, (job: JobManager, tag: never) => Promise<unknown>]>([
  ['setState', (job, tag) => job.setState(tag)],
  ['setFinished', (job, tag) => job.setFinished(tag)],
  ['setWarning', (job, tag) => job.setWarning('slow', tag)],
  ['setError', (job, tag) => job.setError(new Error('disk full'), tag)],
])('%s with a tag alone is refused by what was passed', async (_, call) => {
  await using job = await createJobManager({ store: stores.create(), ...names });
  await expect(call(job, 'ingest' as never)).rejects.toThrow(
    'the write is "ingest"; expected an object',
  );
});

test('a store refuses unknown fields of a job, of a query and of a lease', async () => {
  const store = stores.create();
  const spec = { jobId: 'nightly', numTasks: 1, label: {} };
  const refused = (field: string) => ({ code: 'invalid-argument', details: { field } });
  await expect(store.createJob(spec)).rejects.toMatchObject(refused('label'));
  await expect(store.listJobs({ worse: 'failed' } as never)).rejects.toMatchObject(
    refused('worse'),
  );
  const lease = {
    jobId: 'nightly',
    incarnation: '',
    taskId: 0,
    action: 'claim',
    epoch: 0,
  } as const;
  const request = { ...lease, ttlMs: 0, holder: '', ttl: 5_000 };
  await expect(store.lease(request)).rejects.toMatchObject(refused('ttl'));
});

test('a store refuses unknown options of job-wide writes, and changes nothing', async () => {
  const store = stores.create();
  const { job } = await store.createJob({ jobId: 'nightly', numTasks: 1 });
  const options = { ifRevison: 7 } as object;
  const refused = { code: 'invalid-argument', details: { field: 'ifRevison' } };
  await expect(store.deleteJob('nightly', options)).rejects.toMatchObject(refused);
  await expect(store.markJobDeleted('nightly', options)).rejects.toMatchObject(refused);
  await expect(store.updateJob('nightly', {}, options)).rejects.toMatchObject(refused);
  expect(await store.getJob('nightly')).toEqual(job);
});

async function firstOf(events: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of events) return;
}
