import { type Logger, SynclineError, silentLogger } from '@syncline/kernel';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { OpenStores } from '../conformance/open-stores.js';
import { overrideStore } from '../conformance/override-store.js';
import { JobStatus } from '../job.js';
import type { JobStore } from '../job-store.js';
import { createJobManager, createJobReader } from './create-job-manager.js';
import type { JobManager } from './job-manager.js';

const stores = new OpenStores();
afterEach(() => stores.close());

const target = (store = stores.create()) =>
  ({ store, jobId: 'nightly', taskIndex: 0, numTasks: 2 }) as const;

describe('opening', () => {
  test('creates the job with its labels and expected tags, and claims the task', async () => {
    const store = stores.create();
    const tags = { ingest: {}, cleanup: { expected: false } };
    await using job = await createJobManager(target(store), { tags, labels: { team: 'data' } });
    expect(job.info).toMatchObject({
      jobId: 'nightly',
      numTasks: 2,
      expectedTags: ['ingest'],
      labels: { team: 'data' },
    });
    expect(job.taskId).toBe(0);
    const { epoch } = await job.heartbeat();
    expect(epoch).toBe(1);
  });

  test('J15 adopts the number of tasks that the job has, and logs it', async () => {
    const store = stores.create();
    await using first = await createJobManager(target(store));
    const warn = vi.fn();
    const log: Logger = { ...silentLogger, warn, child: () => log };
    const numTasks = 8;
    await using other = await createJobManager(
      { ...target(store), taskIndex: 1, numTasks },
      { log },
    );
    expect(other.info.numTasks).toBe(first.info.numTasks);
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/^🟡 /), { numTasks: 2, given: numTasks }],
    ]);
  });

  test('J15 a task above the caller’s own count is accepted if the job has it', async () => {
    const store = stores.create();
    await using _first = await createJobManager(target(store));
    await using other = await createJobManager({ ...target(store), taskIndex: 1, numTasks: 1 });
    expect(other.info.numTasks).toBe(2);
  });

  test('J15 refuses a task that the job does not have, whatever number the caller passes', async () => {
    const store = stores.create();
    await using _first = await createJobManager(target(store));
    const second = createJobManager({ ...target(store), taskIndex: 5, numTasks: 8 });
    await expect(second).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringContaining('job "nightly" has 2 tasks'),
      details: { field: 'taskIndex' },
    });
  });

  test('J15 refuses a different number of tasks with `fail`', async () => {
    const store = stores.create();
    await using _first = await createJobManager(target(store));
    const second = createJobManager(
      { ...target(store), numTasks: 3 },
      { onNumTasksMismatch: 'fail' },
    );
    await expect(second).rejects.toMatchObject({
      code: 'conflict',
      details: { reason: 'num-tasks' },
    });
  });

  test.each([
    [{ taskIndex: 2 }, 'taskIndex'],
    [{ taskIndex: -1 }, 'taskIndex'],
    [{ taskIndex: 0.5 }, 'taskIndex'],
    [{ numTasks: 0 }, 'numTasks'],
    [{ numTasks: 100_001 }, 'numTasks'],
    [{ jobId: '' }, 'jobId'],
    [{ jobId: 'a/b' }, 'jobId'],
  ])('J20 refuses %j and creates nothing', async (change, field) => {
    const store = stores.create();
    const opening = createJobManager({ ...target(store), ...change });
    await expect(opening).rejects.toMatchObject({ code: 'invalid-argument', details: { field } });
    expect((await store.listJobs({})).jobs).toEqual([]);
  });

  test.each([
    [{ lease: { ttlMs: 999 } }, 'ttlMs'],
    [{ lease: { ttlMs: 0 } }, 'ttlMs'],
    [{ lease: { ttlMs: 3_600_001 } }, 'ttlMs'],
    [{ timeoutMs: 0 }, 'timeoutMs'],
    [{ retry: { initialMs: 0 } }, 'retry.initialMs'],
    [{ statuses: { far: 2_147_483_648 } }, 'statuses.far'],
    [{ tags: { '': {} } }, 'tags'],
  ])('J20 refuses the options %j', async (options, field) => {
    const opening = createJobManager(target(), options);
    await expect(opening).rejects.toMatchObject({ code: 'invalid-argument', details: { field } });
  });

  test('a job that is marked deleted cannot be opened to write', async () => {
    const store = stores.create();
    await using job = await createJobManager(target(store));
    await job.markJobDeleted();
    await expect(createJobManager(target(store))).rejects.toMatchObject({ code: 'conflict' });
  });

  test('a reader creates nothing', async () => {
    const store = stores.create();
    const opening = createJobReader({ store, jobId: 'nightly' });
    await expect(opening).rejects.toMatchObject({ code: 'not-found' });
    expect((await store.listJobs({})).jobs).toEqual([]);
  });

  test('gives up when its signal fires', async () => {
    const opening = createJobManager(target(), { signal: AbortSignal.abort() });
    await expect(opening).rejects.toMatchObject({ code: 'aborted', outcome: 'not-applied' });
  });
});

describe('reading', () => {
  test('the four scopes of getState', async () => {
    const store = stores.create();
    await using job = await createJobManager(target(store));
    await using other = await createJobManager({ ...target(store), taskIndex: 1 });
    await job.setState({ tag: 'ingest', status: 40 });
    await other.setFinished({ tag: 'ingest' });
    await other.setState({ tag: 'export', status: 7 });
    expect((await job.getState({ taskId: 1, tag: 'ingest' })).status).toBe(JobStatus.finished);
    expect(await job.getState({ taskId: 0, tag: 'export' })).toMatchObject({
      version: 0,
      status: 0,
    });
    expect((await job.getState({ tag: 'ingest' })).status).toBe(40);
    expect(await job.getState({ taskId: 1 })).toMatchObject({ tag: 'export', status: 7 });
    expect(await job.getState()).toMatchObject({ tag: 'export', taskId: 1, status: 7 });
  });

  test('J20 a task that the job does not have', async () => {
    await using job = await createJobManager(target());
    const wrong = { code: 'invalid-argument', details: { field: 'taskId' } };
    await expect(job.getState({ taskId: 2 })).rejects.toMatchObject(wrong);
    await expect(job.getProgress({ taskId: 2 })).rejects.toMatchObject(wrong);
    await expect(
      job.listStates({ taskId: 2 })[Symbol.asyncIterator]().next(),
    ).rejects.toMatchObject(wrong);
  });

  test('listStates reads all pages', async () => {
    const store = stores.create();
    await using job = await createJobManager(target(store));
    for (const tag of ['a', 'b', 'c', 'd', 'e']) await job.setStarted({ tag });
    const small = overrideStore(store, {
      listStates: (jobId, scope, page, call) =>
        store.listStates(jobId, scope, { ...page, limit: 2 }, call),
    });
    await using reader = await createJobReader({ store: small, jobId: 'nightly' });
    const seen: string[] = [];
    for await (const state of reader.listStates()) seen.push(state.tag);
    expect(seen).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('listStates refuses to mix two incarnations', async () => {
    const store = stores.create();
    await using job = await createJobManager(target(store));
    for (const tag of ['a', 'b', 'c']) await job.setStarted({ tag });
    const small = overrideStore(store, {
      listStates: (jobId, scope, page, call) =>
        store.listStates(jobId, scope, { ...page, limit: 1 }, call),
    });
    await using reader = await createJobReader({ store: small, jobId: 'nightly' });
    const states = reader.listStates()[Symbol.asyncIterator]();
    await states.next();
    await store.deleteJob('nightly');
    await store.createJob({ jobId: 'nightly', numTasks: 1 });
    await expect(states.next()).rejects.toMatchObject({ code: 'conflict' });
  });
});

describe('metadata of the whole job', () => {
  test('J14 is written by task 0 only', async () => {
    const store = stores.create();
    await using zero = await createJobManager(target(store));
    await using one = await createJobManager({ ...target(store), taskIndex: 1 });
    const before = (await store.getJob('nightly'))?.revision;
    const refused = { applied: false, reason: 'not-task-0' };
    expect(await one.updateJob({ labels: { a: 'b' } })).toEqual(refused);
    expect(await one.markJobDeleted()).toEqual(refused);
    expect(await one.deleteJob()).toEqual(refused);
    expect((await store.getJob('nightly'))?.revision).toBe(before);

    expect(await zero.updateJob({ labels: { a: 'b' } })).toMatchObject({ applied: true });
    expect(zero.info.labels).toEqual({ a: 'b' });
    expect(await zero.markJobDeleted()).toMatchObject({ applied: true });
    const { revision } = (await store.getJob('nightly')) ?? {};
    expect(await zero.deleteJob()).toEqual({ applied: true, revision });
    expect(await zero.deleteJob()).toEqual({ applied: true, revision: 0 });
  });

  test('J13 is not written by a task 0 that was taken over, nor to another incarnation', async () => {
    const store = stores.create();
    await using old = await createJobManager(target(store));
    await using _new = await createJobManager(target(store));
    await expect(old.updateJob({ labels: { a: 'b' } })).rejects.toMatchObject({ code: 'fenced' });

    await using late = await createJobManager(target(store));
    await store.deleteJob('nightly');
    await store.createJob({ jobId: 'nightly', numTasks: 2 });
    await expect(late.deleteJob()).rejects.toMatchObject({ code: 'fenced' });
    expect(await store.getJob('nightly')).toBeDefined();
  });
});

describe('a global write that is repeated', () => {
  /** The first call arrives; before its reply is lost, another process creates the job again. */
  function recreatedBehind(store: JobStore): JobStore {
    let calls = 0;
    async function once<T>(call: () => Promise<T>): Promise<T> {
      calls += 1;
      if (calls > 1) return call();
      await call();
      await store.deleteJob('nightly');
      await store.createJob({ jobId: 'nightly', numTasks: 2 });
      throw new SynclineError('unavailable', 'the reply was lost', { outcome: 'unknown' });
    }
    return overrideStore(store, {
      updateJob: (jobId, patch, call) => once(() => store.updateJob(jobId, patch, call)),
      markJobDeleted: (jobId, call) => once(() => store.markJobDeleted(jobId, call)),
      deleteJob: (jobId, call) => once(() => store.deleteJob(jobId, call)),
    });
  }

  test('J13 does not delete a job that was created since, and counts as applied', async () => {
    const store = stores.create();
    await using job = await createJobManager(target(recreatedBehind(store)));
    expect(await job.deleteJob()).toMatchObject({ applied: true });
    expect(await store.getJob('nightly')).toMatchObject({ revision: 1 });
  });

  test.each([
    ['updateJob', (job: JobManager) => job.updateJob({ labels: { a: 'b' } })],
    ['markJobDeleted', (job: JobManager) => job.markJobDeleted()],
  ])('J13 %s is fenced by a job that was created since', async (_name, write) => {
    const store = stores.create();
    await using job = await createJobManager(target(recreatedBehind(store)));
    await expect(write(job)).rejects.toMatchObject({ code: 'fenced' });
    expect(await store.getJob('nightly')).toMatchObject({ revision: 1, labels: {} });
  });
});

describe('the end', () => {
  test('after its own deleteJob() nothing is renewed or released, and nothing is logged', async () => {
    const store = stores.create();
    const actions: string[] = [];
    const counted = overrideStore(store, {
      lease(request, call) {
        actions.push(request.action);
        return store.lease(request, call);
      },
    });
    const lines: string[] = [];
    const log = {
      ...silentLogger,
      warn: (text: string) => void lines.push(text),
      child: () => log,
    };
    const job = await createJobManager(target(counted), { log });
    await job.deleteJob();
    await job.close();
    expect(actions).toEqual(['claim', 'renew']);
    expect(lines).toEqual([]);
  });

  test('J13 a manager that was fenced refuses every call', async () => {
    const store = stores.create();
    await using old = await createJobManager(target(store));
    await using _new = await createJobManager(target(store));
    const fenced = { code: 'fenced' };
    await expect(old.setStarted({ tag: 'ingest' })).rejects.toMatchObject(fenced);
    await expect(old.getState()).rejects.toMatchObject(fenced);
    await expect(old.getProgress()).rejects.toMatchObject(fenced);
    await expect(old.heartbeat()).rejects.toMatchObject(fenced);
    await expect(old.waitFor({}, () => true)).rejects.toMatchObject(fenced);
    expect(() => old.subscribe()).toThrow(SynclineError);
    expect((await store.listStates('nightly', {}, { afterRevision: 0, limit: 10 })).states).toEqual(
      [],
    );
  });

  test('J20 after close() every call is `closed`', async () => {
    const job = await createJobManager(target());
    await job.close();
    await job.close();
    const closed = { code: 'closed' };
    await expect(job.setStarted({ tag: 'ingest' })).rejects.toMatchObject(closed);
    await expect(job.getState()).rejects.toMatchObject(closed);
    await expect(job.heartbeat()).rejects.toMatchObject(closed);
    await expect(job.updateJob({})).rejects.toMatchObject(closed);
    expect(() => job.subscribe()).toThrow(SynclineError);
  });

  test('close() releases the lease after the writes that were accepted', async () => {
    const store = stores.create();
    const job = await createJobManager(target(store));
    const writing = [1, 2, 3].map((status) => job.setState({ tag: 'ingest', status: 10 + status }));
    await job.close();
    expect((await Promise.all(writing)).at(-1)?.state).toMatchObject({ status: 13, version: 3 });
    await using next = await createJobManager(target(store));
    expect((await next.heartbeat()).epoch).toBe(2);
  });
});
