import { createSystemClock, SynclineError } from '@syncline/kernel';
import { afterEach, describe, expect, test } from 'vitest';
import { collectJobs } from './collect-jobs.js';
import { OpenStores } from './conformance/open-stores.js';
import { overrideStore } from './conformance/override-store.js';
import { createJobManager } from './manager/create-job-manager.js';

const stores = new OpenStores();
afterEach(() => stores.close());

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Jobs of each kind, all changed about now. */
async function storeWithJobs() {
  const store = stores.create();
  for (const jobId of ['finished', 'marked', 'running', 'silent']) {
    await using job = await createJobManager({ store, jobId, taskIndex: 0, numTasks: 1 });
    if (jobId !== 'silent') await job.setStarted({ tag: 'work' });
    if (jobId === 'finished') await job.setFinished({ tag: 'work' });
    if (jobId === 'marked') await job.markJobDeleted();
  }
  return store;
}

const later = (ms: number) => {
  const clock = createSystemClock();
  return { clock: { ...clock, nowMs: () => clock.nowMs() + ms } };
};

describe('collectJobs', () => {
  test('deletes what is past its retention, each kind by its own', async () => {
    const store = await storeWithJobs();
    const deletedAfter = async (ms: number, policy = {}) =>
      (await collectJobs(store, policy, later(ms))).deleted;
    expect(await deletedAfter(HOUR_MS - 60_000)).toEqual([]);
    expect(await deletedAfter(HOUR_MS)).toEqual(['marked']);
    expect(await deletedAfter(7 * DAY_MS - 60_000)).toEqual([]);
    expect(await deletedAfter(7 * DAY_MS)).toEqual(['finished']);
    expect(await deletedAfter(1_000 * DAY_MS)).toEqual([]);
    expect(await deletedAfter(2 * DAY_MS, { idleMs: DAY_MS })).toEqual(['running', 'silent']);
    expect((await store.listJobs({})).jobs).toEqual([]);
  });

  test('does not delete a job that was created again since it was checked', async () => {
    const memory = await storeWithJobs();
    const store = overrideStore(memory, {
      async deleteJob(jobId, call) {
        await memory.deleteJob(jobId);
        await memory.createJob({ jobId, numTasks: 1 });
        return memory.deleteJob(jobId, call);
      },
    });
    const result = await collectJobs(store, {}, later(HOUR_MS));
    expect(result).toEqual({ examined: 4, deleted: [], failed: [] });
    expect(await memory.getJob('marked')).toMatchObject({ revision: 1 });
  });

  test('does not delete a job that was changed at the moment of its deletion', async () => {
    const memory = await storeWithJobs();
    const store = overrideStore(memory, {
      async deleteJob(jobId, call) {
        await memory.updateJob(jobId, { labels: { kept: 'yes' } });
        return memory.deleteJob(jobId, call);
      },
    });
    const policy = { idleMs: HOUR_MS, markedMs: 100 * DAY_MS };
    const result = await collectJobs(store, policy, later(8 * DAY_MS));
    expect(result).toEqual({ examined: 4, deleted: [], failed: [] });
    expect(await memory.getJob('silent')).toMatchObject({ labels: { kept: 'yes' } });
  });

  test('reads all pages, and skips a job that cannot be deleted', async () => {
    const memory = await storeWithJobs();
    const store = overrideStore(memory, {
      listJobs: (query, call) => memory.listJobs({ ...query, limit: 1 }, call),
      async deleteJob(jobId, call) {
        if (jobId === 'finished') throw new SynclineError('storage-full', 'no room');
        return memory.deleteJob(jobId, call);
      },
    });
    const result = await collectJobs(store, { idleMs: DAY_MS }, later(8 * DAY_MS));
    expect(result).toMatchObject({
      examined: 4,
      deleted: ['marked', 'running', 'silent'],
      failed: [{ jobId: 'finished', error: { code: 'storage-full' } }],
    });
  });

  test('does not delete a job that changed since it was listed', async () => {
    const memory = await storeWithJobs();
    const store = overrideStore(memory, {
      async listJobs(query, call) {
        const page = await memory.listJobs(query, call);
        await memory.updateJob('finished', { labels: { keep: 'yes' } });
        return page;
      },
    });
    expect((await collectJobs(store, {}, later(8 * DAY_MS))).deleted).toEqual(['marked']);
  });

  test('refuses a policy with a mistyped name, and deletes nothing', async () => {
    const store = await storeWithJobs();
    const policy = { finishedMS: Number.POSITIVE_INFINITY } as object;
    await expect(collectJobs(store, policy, later(8 * DAY_MS))).rejects.toMatchObject({
      code: 'invalid-argument',
      details: { field: 'finishedMS' },
    });
    expect((await store.listJobs({})).jobs).toHaveLength(4);
  });

  test('ends when its signal fires', async () => {
    const store = await storeWithJobs();
    const sweep = collectJobs(store, { signal: AbortSignal.abort() }, later(8 * DAY_MS));
    await expect(sweep).rejects.toMatchObject({ code: 'aborted' });
    expect((await store.listJobs({})).jobs).toHaveLength(4);
  });
});
