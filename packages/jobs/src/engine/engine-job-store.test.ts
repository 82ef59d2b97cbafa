import {
  type Clock,
  createMemoryStorage,
  createSystemClock,
  createSystemRandom,
  SynclineError,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { expect, test, vi } from 'vitest';
import { checkWireWrite } from '../checks/checked-write.js';
import { at, createStaffedJob, JOB_ID } from '../conformance/job-samples.js';
import { EmbeddedAdapter } from '../embedded/embedded-adapter.js';
import { jobsLimits } from '../limits.js';
import { createJobManager } from '../manager/create-job-manager.js';
import { framesOf } from '../wire/frames.js';
import { type EngineOptions, openJobStore } from './job-engine.js';

/** A store whose commits can be made to fail. */
async function open(options: EngineOptions = {}, clock: Clock = createSystemClock()) {
  const metrics = { ...silentMetrics, add: vi.fn(), observe: vi.fn() };
  const deps = {
    clock,
    random: createSystemRandom(),
    logger: silentLogger,
    metrics,
  };
  const adapter = new EmbeddedAdapter({ ...deps, storage: createMemoryStorage() }, 1_000);
  const faults: { commit?: () => void; cell?: (tag: string) => void } = {};
  const commit = adapter.commit.bind(adapter);
  adapter.commit = async (requests, decide) => {
    faults.commit?.();
    await commit(requests, (rows) =>
      decide({
        ...rows,
        cell(job, taskId, tag) {
          faults.cell?.(tag);
          return rows.cell(job, taskId, tag);
        },
      }),
    );
  };
  return { store: await openJobStore(adapter, deps, options), adapter, metrics, faults };
}

test('a bug in one write fails its whole batch, as a bug: nothing of the batch is stored', async () => {
  const { store, faults } = await open();
  const { writers } = await createStaffedJob(store);
  const writer = at(writers, 0);
  for (const tag of ['a', 'b', 'c']) await writer.set(tag, 1);
  const before = await store.getJob(JOB_ID);
  faults.cell = (tag) => {
    if (tag === 'b') throw new TypeError('cannot read properties of undefined');
  };
  const results = await Promise.allSettled(['a', 'b', 'c'].map((tag) => writer.set(tag, 2)));
  for (const result of results)
    expect(result).toEqual({ status: 'rejected', reason: expect.any(TypeError) });
  delete faults.cell;
  expect(await store.getJob(JOB_ID)).toEqual(before);
  for (const tag of ['a', 'b', 'c'])
    expect(await store.getState(JOB_ID, 0, tag)).toMatchObject({ status: 1, version: 1 });
  expect(await writer.set('b', 3)).toMatchObject({
    version: 2,
    revision: (before?.revision ?? 0) + 1,
  });
  await store.close();
});

test('J1 a backlog whose checks would block the event loop is spread over several commits, in order', async () => {
  let nowMs = 0;
  const clock = { ...createSystemClock(), monotonicMs: () => nowMs };
  const { store, metrics, faults } = await open({}, clock);
  const { writers } = await createStaffedJob(store);
  const writer = at(writers, 0);
  const tags = Array.from({ length: 20 }, (_, index) => `tag-${index}`);
  for (const tag of tags) await writer.set(tag, 1);
  faults.cell = () => {
    nowMs += 1; // each check takes a millisecond
  };
  metrics.observe.mockClear();
  const before = await store.getJob(JOB_ID);
  const results = await Promise.all(tags.map((tag) => writer.set(tag, 2)));
  for (const [index, result] of results.entries())
    expect(result).toMatchObject({ version: 2, revision: (before?.revision ?? 0) + 1 + index });
  const sizes = metrics.observe.mock.calls
    .filter(([name]) => name === 'syncline_jobs_commit_batch_writes')
    .map(([, size]) => size);
  expect(sizes).toEqual(Array.from({ length: 5 }, () => jobsLimits.commitTurnMs.value));
  await store.close();
});

test('a write that fails in every attempt counts one error, also with an observer for all', async () => {
  const { store, metrics, faults } = await open();
  const target = { store, jobId: 'nightly', taskIndex: 0, numTasks: 1 };
  const retry = { initialMs: 1, maxMs: 2 };
  const job = await createJobManager(target, { observer: metrics, timeoutMs: 1_000, retry });
  let attempts = 0;
  faults.commit = () => {
    attempts += 1;
    throw new SynclineError('unavailable', 'out of reach');
  };
  const failed = await job.setStarted({ tag: 'a' }).catch((thrown: SynclineError) => thrown);
  expect(failed).toBeInstanceOf(SynclineError);
  const { code } = failed as SynclineError; // the store's, or that of the deadline
  expect(attempts).toBeGreaterThan(1);
  const errors = metrics.add.mock.calls.filter(([name]) => /write_errors/.test(name));
  expect(errors).toEqual([['syncline_jobs_write_errors_total', 1, { code }]]);
  delete faults.commit;
  await job.close();
  await store.close();
});

test('a subscription that ends with events in its buffer counts a drop', async () => {
  const { store, metrics } = await open();
  const { writers } = await createStaffedJob(store);
  const stop = new AbortController();
  const events = store.subscribe(JOB_ID, { scope: {}, signal: stop.signal });
  const iterator = events[Symbol.asyncIterator]();
  expect((await iterator.next()).value).toMatchObject({ kind: 'synced' });
  const first = iterator.next();
  await new Promise((resolve) => setImmediate(resolve)); // it follows now
  for (const status of [1, 2, 3]) await at(writers, 0).set('a', status);
  expect((await first).value).toMatchObject({ kind: 'change', state: { status: 1 } });
  stop.abort();
  expect(await iterator.next()).toMatchObject({ done: true });
  const drops = metrics.add.mock.calls.filter(([name]) => /drops/.test(name));
  expect(drops).toEqual([['syncline_jobs_subscription_drops_total', 1, { reason: 'cancel' }]]);
  await store.close();
});

test.each([
  [{ retentionRevisonsMax: 1 }, 'retentionRevisonsMax'],
  [{ cacheBytesMax: Number.NaN }, 'cacheBytesMax'],
  [{ openSnapshotsMax: 0 }, 'openSnapshotsMax'],
  [{ retentionMs: '1h' }, 'retentionMs'],
])('the options %j are refused', async (options, field) => {
  await expect(open(options as EngineOptions)).rejects.toMatchObject({
    code: 'invalid-argument',
    details: { field },
  });
});

test('an option that is undefined has its default', async () => {
  const { store } = await open({ openSnapshotsMax: undefined } as object);
  await createStaffedJob(store);
  const page = { afterRevision: 0, limit: 1 };
  expect(await store.listStates(JOB_ID, {}, page)).toMatchObject({ more: false });
  await store.close();
});

test('job, progress and lost tasks are of one moment, although others write during the read', async () => {
  const { store, adapter } = await open();
  const { writers } = await createStaffedJob(store, { numTasks: 2 });
  const writer = at(writers, 0);
  const before = await writer.set('a', 1);
  const readStates = adapter.readStates.bind(adapter);
  adapter.readStates = async (job, cells) => {
    adapter.readStates = readStates;
    const found = await readStates(job, cells);
    await store.updateJob(JOB_ID, { labels: { later: 'yes' } });
    await writer.set('a', 2);
    return found;
  };
  const { job, progress, lost } = await store.progress(JOB_ID, {}, undefined);
  expect(job).toMatchObject({ revision: before.revision, labels: {} });
  expect(progress).toMatchObject({ revision: before.revision, worst: { taskId: 1 } });
  expect(progress.tags[0]?.lowest).toMatchObject({ taskId: 1, status: 0 });
  expect(lost).toEqual([]);
  await store.close();
});

test('a payload from the wire is parsed once and written as JSON once, for its digest, however many follow the job', async () => {
  const { store } = await open();
  const { writers } = await createStaffedJob(store);
  const payloadJson = JSON.stringify({ lists: Array.from({ length: 20_000 }, () => []) });
  const follow = async () => {
    const frames: Uint8Array[] = [];
    for await (const events of store.subscribeEncoded(JOB_ID, { scope: {} }).batches()) {
      frames.push(...framesOf(events));
      if (events.some(({ kind }) => kind === 'change')) return frames;
    }
    return [];
  };
  const followers = [follow(), follow()];
  await new Promise((resolve) => setImmediate(resolve));
  const parse = vi.spyOn(JSON, 'parse');
  const stringify = vi.spyOn(JSON, 'stringify');
  const write = checkWireWrite({ ...at(writers, 0).write('a', 1), payloadJson });
  const { state } = await store.setEncoded(write);
  const frames = (await Promise.all(followers)).flat();
  const isLarge = (text: unknown) => String(text).length >= payloadJson.length;
  expect(parse.mock.calls.filter(([text]) => isLarge(text))).toHaveLength(1);
  expect(stringify.mock.results.filter(({ value }) => isLarge(value))).toHaveLength(1);
  vi.restoreAllMocks();
  for (const bytes of [state, frames.at(-1)])
    expect(Buffer.from(bytes ?? []).includes(payloadJson)).toBe(true);
  await store.close();
});

test('the logs of many jobs are compacted with no more open views than allowed', async () => {
  const limits = { openSnapshotsMax: 2, retentionRevisionsMax: 1, compactionKeysMax: 4 };
  const { store, adapter } = await open(limits);
  const openView = adapter.openView.bind(adapter);
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const openCounts: number[] = [];
  let openCount = 0;
  adapter.openView = async (job, filter) => {
    openCount += 1;
    openCounts.push(openCount);
    const view = await openView(job, filter);
    return {
      ...view,
      async *changes(after) {
        await released;
        yield* view.changes(after);
      },
      close() {
        openCount -= 1;
        view.close();
      },
    };
  };
  const jobIds = ['a', 'b', 'c', 'd', 'e'];
  for (const jobId of jobIds) {
    const { writers } = await createStaffedJob(store, { jobId, numTasks: 1 });
    for (const status of [1, 2, 3, 4, 5, 6]) await at(writers, 0).set('tag', status);
  }
  release();
  await vi.waitFor(() => expect(openCounts.length).toBeGreaterThanOrEqual(jobIds.length));
  await store.close();
  expect(Math.max(...openCounts)).toBeLessThanOrEqual(2);
  expect(openCount).toBe(0);
});
