import { silentMetrics } from '@syncline/kernel';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { OpenStores } from '../conformance/open-stores.js';
import { overrideStore, schemaOf } from '../conformance/override-store.js';
import { createJobManager, createJobReader } from './create-job-manager.js';

const stores = new OpenStores();
afterEach(() => stores.close());

const names = { jobId: 'nightly', taskIndex: 1, numTasks: 2 };
const tag = 'ingest';

const withHalf = schemaOf(async ({ count }: { readonly count: number }) => {
  if (count < 0) throw new Error('count is negative');
  return { count, half: count / 2 };
});

describe('writing a state', () => {
  test('returns the state as the store keeps it', async () => {
    await using job = await createJobManager({ store: stores.create(), ...names });
    const first = await job.setState({ tag, status: 40, message: 'row 7', payload: { row: 7 } });
    expect(first).toMatchObject({ applied: true, duplicate: false });
    expect(first.state).toMatchObject({
      jobId: 'nightly',
      taskId: 1,
      tag,
      status: 40,
      statusClass: 'running',
      message: 'row 7',
      version: 1,
      schemaVersion: 1,
      payload: { row: 7 },
    });
    expect(first.state.eventId).toMatch(/^[0-9a-f]{32}$/);
    expect((await job.setState({ tag, status: 40 })).state.version).toBe(2);
  });

  test('J2 a repeat with its event id gets the first result, other content is a conflict', async () => {
    await using job = await createJobManager({ store: stores.create(), ...names });
    const write = { tag, status: 40, eventId: 'mine' };
    const first = await job.setState(write);
    await job.setFinished({ tag });
    expect(await job.setState(write)).toEqual({ ...first, duplicate: true });
    await expect(job.setState({ ...write, status: 41 })).rejects.toMatchObject({
      code: 'conflict',
      details: { reason: 'event-id' },
    });
  });

  test('applies only at the requested version', async () => {
    await using job = await createJobManager({ store: stores.create(), ...names });
    const isNew = { tag, status: 10, ifVersion: 0 };
    expect(await job.setState(isNew)).toMatchObject({ applied: true, state: { version: 1 } });
    expect(await job.setState({ ...isNew, status: 11 })).toMatchObject({
      applied: false,
      reason: 'version',
      current: { status: 10, version: 1 },
    });
  });

  test.each([
    [{ taskId: 0 }, 'taskId'],
    [{ jobId: 'other' }, 'jobId'],
    [{ tag: '' }, 'tag'],
    [{ status: 2 ** 31 }, 'status'],
    [{ status: 'unheard' as never }, 'status'],
    [{ eventId: '' }, 'eventId'],
    [{ payload: [] as never }, 'payload'],
  ])('J20 refuses %j', async (change, field) => {
    const store = stores.create();
    await using job = await createJobManager({ store, ...names });
    const own = { taskId: 1, jobId: 'nightly' };
    const writing = job.setState({ tag, status: 1, ...own, ...change });
    await expect(writing).rejects.toMatchObject({ code: 'invalid-argument', details: { field } });
    const page = await store.listStates('nightly', {}, { afterRevision: 0, limit: 10 });
    expect(page.states).toEqual([]);
  });

  test('J20 refuses a payload that its schema refuses, and keeps the order of the others', async () => {
    const store = stores.create();
    await using job = await createJobManager(
      { store, ...names },
      { tags: { ingest: { schema: withHalf, schemaVersion: 3 } } },
    );
    const results = await Promise.allSettled(
      [4, -1, 6].map((value) => job.setStarted({ tag, payload: { count: value } })),
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({
      reason: {
        code: 'invalid-argument',
        details: { field: 'payload', issues: [{ message: 'count is negative' }] },
      },
    });
    const seen = await job.getState({ tag, taskId: 1 });
    expect(seen).toMatchObject({ version: 2, schemaVersion: 3, payload: { count: 6, half: 3 } });
    const stored = await store.getState('nightly', 1, tag);
    expect(stored?.payload).toEqual({ count: 6 }); // the input: a transformation never runs twice
  });

  test('sends the payload as it was when called', async () => {
    await using job = await createJobManager({ store: stores.create(), ...names });
    const payload = { rows: [1] };
    const writing = job.setStarted({ tag, payload });
    payload.rows.push(2);
    expect((await writing).state.payload).toEqual({ rows: [1] });
  });

  test('sends the original payload, whatever the schema does to its copy', async () => {
    const greedy = schemaOf((given: Record<string, unknown>) => Object.assign(given, { mine: 1 }));
    const target = { store: stores.create(), ...names };
    await using writer = await createJobManager(target, { tags: { [tag]: { schema: greedy } } });
    await using reader = await createJobReader({ store: target.store, jobId: names.jobId });
    await writer.setStarted({ tag, payload: { rows: 7 } });
    expect((await reader.getState({ taskId: 1, tag })).payload).toEqual({ rows: 7 });
  });

  test('reports its time, and what failed by its code', async () => {
    const memory = stores.create();
    const observer = { ...silentMetrics, add: vi.fn(), observe: vi.fn() };
    const store = overrideStore(memory, {});
    await using job = await createJobManager({ store, ...names }, { observer });
    await job.setStarted({ tag });
    await expect(job.setStarted({ tag: '' })).rejects.toMatchObject({ code: 'invalid-argument' });
    await using _newer = await createJobManager({ store, ...names });
    for (const _ of [1, 2]) {
      await expect(job.setStarted({ tag })).rejects.toMatchObject({ code: 'fenced' });
    }
    const errors = 'syncline_jobs_write_errors_total';
    expect(observer.add.mock.calls).toEqual([
      [errors, 1, { code: 'invalid-argument' }],
      ['syncline_jobs_fenced_total'],
      [errors, 1, { code: 'fenced' }],
      ['syncline_jobs_fenced_total'],
      [errors, 1, { code: 'fenced' }],
    ]);
    expect(observer.observe).toHaveBeenCalledTimes(4);
  });

  test('leaves to the store what both would count, if they have the same observer', async () => {
    const observer = { ...silentMetrics, add: vi.fn(), observe: vi.fn() };
    const store = stores.create({ metrics: observer });
    await using job = await createJobManager({ store, ...names }, { observer });
    await job.setStarted({ tag });
    await using _newer = await createJobManager({ store, ...names }, { observer });
    await expect(job.setStarted({ tag })).rejects.toMatchObject({ code: 'fenced' });
    const counted = observer.add.mock.calls.map(([name]) => name);
    expect(counted).toHaveLength(2);
    expect(counted).toContain('syncline_jobs_fenced_total');
    expect(counted).toContain('syncline_jobs_write_errors_total');
    const timed = observer.observe.mock.calls.filter(([name]) => /write_duration/.test(name));
    expect(timed).toHaveLength(2);
  });

  test('counts what never reaches its store, if they have the same observer', async () => {
    const observer = { ...silentMetrics, add: vi.fn() };
    const memory = stores.create({ metrics: observer });
    const store = overrideStore(memory, { setState: () => new Promise(() => {}) });
    const options = { observer, timeoutMs: 1_000 };
    await using job = await createJobManager({ store, ...names }, options);
    await expect(job.setStarted({ tag })).rejects.toMatchObject({ code: 'timeout' });
    await expect(job.setStarted({ tag: '' })).rejects.toMatchObject({ code: 'invalid-argument' });
    expect(observer.add.mock.calls).toEqual([
      ['syncline_jobs_write_errors_total', 1, { code: 'timeout' }],
      ['syncline_jobs_write_errors_total', 1, { code: 'invalid-argument' }],
    ]);
  });
});
