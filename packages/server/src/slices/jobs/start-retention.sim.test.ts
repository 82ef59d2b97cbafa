// What the settings of retention delete, and when, in virtual time.
import { createMemoryJobStore } from '@syncline/jobs';
import { SynclineError } from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { type LogLine, recordingLogger, testConfig } from '../../testing/test-server.js';
import { writeStates } from '../../testing/write-states.js';
import { startRetention } from './start-retention.js';

const HOUR_MS = 3_600_000;

/** A sweep a minute, for ten days. */
const LONG = { timeMsMax: 10 * 24 * HOUR_MS, eventsMax: 10_000_000 };

test('a job that cannot be deleted is told once, not with each sweep', () =>
  runInSimulation('stuck', async ({ clock, random }) => {
    const log: LogLine[] = [];
    const store = createMemoryJobStore({ clock, random });
    store.deleteJob = () => Promise.reject(new SynclineError('storage-failed', 'no'));
    const { retention } = testConfig({
      settings: { jobs: { retention: { marked: '1min' } } },
    }).jobs;
    const sweeper = startRetention({ clock, logger: recordingLogger(log), store }, retention);
    await store.createJob({ jobId: 'stuck', numTasks: 1 });
    await store.markJobDeleted('stuck');
    await clock.sleep(600_000);
    await sweeper.stop();
    await store.close();
    expect(log.map(({ msg }) => msg)).toEqual(['🟡 a job past its retention was not deleted']);
  }));

test.each([
  { idle: 'never', after8Days: ['running'] },
  { idle: '8d', after8Days: [] },
])('finished after 7 d, marked after 1 h, others by idle: $idle', ({ idle, after8Days }) =>
  runInSimulation(
    `retention ${idle}`,
    async ({ clock, random, node }) => {
      const log: LogLine[] = [];
      const logger = recordingLogger(log);
      const store = createMemoryJobStore({ clock, random });
      const { retention } = testConfig({ settings: { jobs: { retention: { idle } } } }).jobs;
      const sweeper = startRetention({ clock, logger, store }, retention);
      for (const jobId of ['finished', 'marked', 'running'])
        await store.createJob({ jobId, numTasks: 1 });
      const finished = { taskId: 0, tag: 'ingest', status: 2_147_483_647, message: '' };
      await writeStates(store, 'finished', [finished]);
      await store.markJobDeleted('marked');
      const idsAfter = async (waitMs: number) => {
        await clock.sleep(waitMs);
        const { jobs } = await store.listJobs({});
        return jobs.map(({ job }) => job.jobId);
      };
      expect(await idsAfter(HOUR_MS - 1_000)).toEqual(['finished', 'marked', 'running']);
      expect(await idsAfter(62_000)).toEqual(['finished', 'running']);
      expect(await idsAfter(7 * 24 * HOUR_MS - HOUR_MS - 62_000)).toEqual(['finished', 'running']);
      expect(await idsAfter(122_000)).toEqual(['running']);
      expect(await idsAfter(24 * HOUR_MS)).toEqual(after8Days);
      await sweeper.stop();
      await store.close();
      expect(node.pendingTimersCount).toBe(0);
      const told = log.filter(({ msg }) => msg === 'a job past its retention was deleted');
      expect(told.map(({ fields }) => fields)).toEqual([
        { jobId: 'marked', reason: 'marked' },
        { jobId: 'finished', reason: 'finished' },
        ...(idle === 'never' ? [] : [{ jobId: 'running', reason: 'idle' }]),
      ]);
    },
    LONG,
  ),
);
