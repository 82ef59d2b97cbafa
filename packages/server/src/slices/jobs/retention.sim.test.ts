// What the retention settings delete, and when, in virtual time.
import { createMemoryJobStore, type JobStore } from '@syncline/jobs';
import { type Clock, SynclineError } from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { type LogLine, recordingLogger, testConfig } from '../../testing/test-server.js';
import { writeStates } from '../../testing/write-states.js';
import { RetentionSweeper } from './retention.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A sweep a minute, for ten days. */
const LONG = { timeMsMax: 10 * DAY_MS, eventsMax: 10_000_000 };

function start(deps: { clock: Clock; store: JobStore }, retention = {}) {
  const log: LogLine[] = [];
  const config = testConfig({ settings: { jobs: { retention } } });
  const sweeper = new RetentionSweeper(
    { ...deps, logger: recordingLogger(log) },
    config.jobs.retention,
  );
  return { log, sweeper };
}

async function idsOf(store: JobStore): Promise<readonly string[]> {
  return (await store.listJobs({})).jobs.map(({ job }) => job.jobId);
}

const finished = { taskId: 0, tag: 'ingest', status: 2_147_483_647, message: '' };

test.each([
  ['while it runs', 0, 30 * DAY_MS],
  ['before it starts', 30 * DAY_MS, 0],
])('a clock that is 30 days ahead %s and is set back deletes nothing', (_, atStart, later) =>
  runInSimulation(
    'jump',
    async (world) => {
      let aheadMs = 0;
      const { clock: steady } = world;
      const clock: Clock = {
        nowMs: () => steady.nowMs() + aheadMs,
        monotonicMs: () => steady.monotonicMs(),
        defer: (callback) => steady.defer(callback),
        setTimer: (ms, callback, options) => steady.setTimer(ms, callback, options),
        sleep: (ms, signal) => steady.sleep(ms, signal),
      };
      const store = createMemoryJobStore(world);
      for (const jobId of ['finished', 'marked']) await store.createJob({ jobId, numTasks: 1 });
      await writeStates(store, 'finished', [finished]);
      await store.markJobDeleted('marked');
      aheadMs = atStart;
      const { sweeper } = start({ clock, store });
      await clock.sleep(5 * MINUTE_MS);
      aheadMs = later;
      await clock.sleep(30 * MINUTE_MS);
      aheadMs = 0;
      await clock.sleep(10 * MINUTE_MS);
      expect(await idsOf(store)).toEqual(['finished', 'marked']);
      await clock.sleep(HOUR_MS);
      expect(await idsOf(store)).toEqual(['finished']);
      await sweeper.stop();
      await store.close();
    },
    LONG,
  ),
);

test('a job that cannot be deleted is logged once, not with each sweep', () =>
  runInSimulation('stuck', async (world) => {
    const store = createMemoryJobStore(world);
    store.deleteJob = () => Promise.reject(new SynclineError('storage-failed', 'no'));
    await store.createJob({ jobId: 'stuck', numTasks: 1 });
    await store.markJobDeleted('stuck');
    const { log, sweeper } = start({ clock: world.clock, store }, { marked: '1min' });
    await world.clock.sleep(HOUR_MS / 2);
    await sweeper.stop();
    await store.close();
    expect(log.map(({ msg }) => msg)).toEqual(['🟡 an expired job could not be deleted']);
  }));

test.each([
  { idle: 'never', after8Days: ['running'] },
  { idle: '8d', after8Days: [] },
])('finished after 7 d, marked after 1 h, others by idle: $idle', ({ idle, after8Days }) =>
  runInSimulation(
    `retention ${idle}`,
    async (world) => {
      const { clock, node } = world;
      const store = createMemoryJobStore(world);
      const { log, sweeper } = start({ clock, store }, { idle });
      for (const jobId of ['finished', 'marked', 'running'])
        await store.createJob({ jobId, numTasks: 1 });
      await writeStates(store, 'finished', [finished]);
      await store.markJobDeleted('marked');
      const idsAfter = async (waitMs: number) => {
        await clock.sleep(waitMs);
        return idsOf(store);
      };
      expect(await idsAfter(HOUR_MS - 1_000)).toEqual(['finished', 'marked', 'running']);
      expect(await idsAfter(62_000)).toEqual(['finished', 'running']);
      expect(await idsAfter(7 * DAY_MS - HOUR_MS - 62_000)).toEqual(['finished', 'running']);
      expect(await idsAfter(122_000)).toEqual(['running']);
      expect(await idsAfter(DAY_MS)).toEqual(after8Days);
      await sweeper.stop();
      await store.close();
      expect(node.pendingTimersCount).toBe(0);
      const deleted = log.filter(({ msg }) => msg === 'expired job deleted');
      expect(deleted.map(({ fields }) => fields)).toEqual([
        { jobId: 'marked', reason: 'marked' },
        { jobId: 'finished', reason: 'finished' },
        ...(idle === 'never' ? [] : [{ jobId: 'running', reason: 'idle' }]),
      ]);
    },
    LONG,
  ),
);

/** A store whose `listJobs` is replaced. */
const listing = (listJobs: JobStore['listJobs']) => ({ listJobs }) as unknown as JobStore;

test('the first sweep comes after ten minutes, then one a minute after the end of the last', () =>
  runInSimulation('sweeps', async ({ clock }) => {
    const startedMs: number[] = [];
    const store = listing(async () => {
      startedMs.push(clock.monotonicMs());
      await clock.sleep(30_000);
      return { jobs: [] };
    });
    const beginMs = clock.monotonicMs();
    const { sweeper } = start({ clock, store });
    await clock.sleep(14 * MINUTE_MS);
    await sweeper.stop();
    expect(startedMs.map((ms) => ms - beginMs)).toEqual([600_000, 690_000, 780_000]);
  }));

test('an outage is logged once, and so is its end', () =>
  runInSimulation('failures', async ({ clock }) => {
    const results = [true, false, false, true, true];
    const store = listing(async () => {
      if (results.shift() === false) throw new SynclineError('unavailable', 'out of reach');
      return { jobs: [] };
    });
    const { log, sweeper } = start({ clock, store });
    await clock.sleep(15 * MINUTE_MS);
    await sweeper.stop();
    expect(log.map(({ level, msg, fields }) => [`${level}: ${msg}`, fields?.['code']])).toEqual([
      ['error: 🔴 expired jobs cannot be deleted', 'unavailable'],
      ['info: expired jobs can be deleted again', undefined],
    ]);
  }));

test('a stop ends the sweep in progress, and no other follows', () =>
  runInSimulation('stop', async ({ clock }) => {
    let sweeps = 0;
    const store = listing(async (_, call) => {
      sweeps += 1;
      await clock.sleep(1_000_000, call?.signal);
      return { jobs: [] };
    });
    const { log, sweeper } = start({ clock, store });
    await clock.sleep(601_000);
    await sweeper.stop();
    await clock.sleep(300_000);
    expect({ sweeps, log }).toEqual({ sweeps: 1, log: [] });
  }));
