// What the embedded store does beyond the suite that all stores run: damage, compaction, the cache, views.
import {
  createMemoryStorage,
  createSystemClock,
  createSystemRandom,
  type Storage,
  StorageBatch,
  silentLogger,
} from '@syncline/kernel';
import { describe, expect, test } from 'vitest';
import { at, createJob, createStaffedJob, JOB_ID, TaskWriter } from '../conformance/job-samples.js';
import { foldStates } from '../conformance/naive-fold.js';
import { isRefused } from '../conformance/refused.js';
import { eventually, StreamReader } from '../conformance/stream-reader.js';
import { JobStatus } from '../job.js';
import type { JobStore } from '../job-store.js';
import { type EmbeddedJobStoreOptions, openEmbeddedJobStore } from './embedded-adapter.js';
import { cellKey, headKey, logKey, taskKey } from './rows.js';

const clock = createSystemClock();

async function open(storage: Storage = createMemoryStorage(), options?: EmbeddedJobStoreOptions) {
  const counts = new Map<string, number>();
  const count = (name: string, value = 1) => {
    counts.set(name, (counts.get(name) ?? 0) + value);
  };
  const set = (name: string, value: number) => void counts.set(name, value);
  const metrics = { add: count, set, observe: count };
  const deps = { storage, clock, random: createSystemRandom(), logger: silentLogger, metrics };
  const store = await openEmbeddedJobStore(deps, options);
  return { store, storage, counts, [Symbol.asyncDispose]: () => store.close() };
}

async function damage(storage: Storage, key: Uint8Array): Promise<void> {
  const value = storage.get(key);
  if (!value) throw new Error('there is no such row');
  await storage.write(new StorageBatch().put(key, Uint8Array.of(0xff)), { durability: 'synced' });
}

/** A job whose cells are (0, a), (1, a) and (1, b), closed. */
async function threeCells(): Promise<Storage> {
  const { store, storage } = await open();
  const { writers } = await createStaffedJob(store, { numTasks: 2 });
  await at(writers, 0).set('a', 5);
  await at(writers, 1).set('a', 6);
  await at(writers, 1).set('b', 7);
  await store.close();
  return storage;
}

describe('damage', () => {
  test('a damaged cell is corrupt, and so is each aggregate over it; it never counts as not started', async () => {
    const storage = await threeCells();
    await damage(storage, cellKey(1, 0, 1)); // (1, a)
    await using opened = await open(storage);
    const { store } = opened;
    await isRefused(store.getState(JOB_ID, 1, 'a'), 'corrupt');
    for (const scope of [{}, { tag: 'a' }, { taskId: 1 }, { taskId: 1, tag: 'a' }]) {
      await isRefused(store.aggregate(JOB_ID, scope), 'corrupt');
    }
    expect((await store.getState(JOB_ID, 0, 'a'))?.status).toBe(5);
    expect((await store.aggregate(JOB_ID, { tag: 'b' })).cells.running).toBe(1);
    expect((await store.aggregate(JOB_ID, { taskId: 0 })).lowest.status).toBe(5);
    await isRefused(store.listStates(JOB_ID, {}, { afterRevision: 0, limit: 9 }), 'corrupt');
    const job = await createJob(store);
    const writer = await TaskWriter.claim(store, job, { taskId: 1 });
    await isRefused(writer.send('a', 8), 'corrupt');
    expect((await writer.set('b', 8)).version).toBe(2);
  });

  test('a damaged record is corrupt for its key; the others still work', async () => {
    const storage = await threeCells();
    await damage(storage, logKey(1, 4)); // (0, a) = 5
    await using opened = await open(storage);
    const { store } = opened;
    await isRefused(store.getState(JOB_ID, 0, 'a'), 'corrupt');
    await isRefused(store.aggregate(JOB_ID, { taskId: 0 }), 'corrupt');
    expect((await store.aggregate(JOB_ID, { taskId: 1 })).lowest.status).toBe(6);
    const reader = new StreamReader({ store, clock }, { scope: { tag: 'b' } });
    expect((await reader.untilKind('synced')).length).toBe(2);
    await isRefused(new StreamReader({ store, clock }).untilKind('synced'), 'corrupt');
  });

  test('a damaged task cannot be claimed: its epoch would be assigned twice', async () => {
    const storage = await threeCells();
    await damage(storage, taskKey(1, 0));
    await using opened = await open(storage);
    const job = await createJob(opened.store);
    await isRefused(TaskWriter.claim(opened.store, job, { taskId: 0 }), 'corrupt');
    const writer = await TaskWriter.claim(opened.store, job, { taskId: 1 });
    expect(writer.lease.epoch).toBe(2);
  });

  test('a damaged head is corrupt for its job alone', async () => {
    const storage = await threeCells();
    await damage(storage, headKey(1));
    await using opened = await open(storage);
    const { store } = opened;
    await isRefused(store.getJob(JOB_ID), 'corrupt');
    await isRefused(store.createJob({ jobId: JOB_ID, numTasks: 2 }), 'corrupt');
    const { writers } = await createStaffedJob(store, { jobId: 'other' });
    expect((await at(writers, 0).set('a', 1)).version).toBe(1);
  });
});

describe('compaction', () => {
  const small = { retentionRevisionsMax: 10, compactionKeysMax: 5, memoryRevisionsMax: 4 };

  test('keeps the latest of each key and what is within retention, and no more', async () => {
    await using opened = await open(createMemoryStorage(), small);
    const { store, counts } = opened;
    const { job, writers } = await createStaffedJob(store, { expectedTags: ['a'] });
    const first = await at(writers, 2).set('rare', 3);
    for (let round = 1; round <= 40; round += 1) {
      await Promise.all(writers.map((writer) => writer.set('a', round)));
    }
    const records = await eventually(clock, 'compaction', async () => {
      const { logRecords } = store.status();
      return logRecords <= 25 ? logRecords : undefined;
    });
    expect(records).toBeGreaterThanOrEqual(10);
    expect(counts.get('syncline_jobs_log_records')).toBe(records);
    let stored = 0;
    for await (const { key } of opened.storage.range()) if (key[0] === 0x6c) stored += 1;
    expect(stored).toBe(records);
    expect(await store.getState(JOB_ID, 2, 'rare')).toEqual(first);
    const { states } = await store.listStates(JOB_ID, {}, { afterRevision: 0, limit: 100 });
    expect(states.map(({ tag, status }) => `${tag} ${status}`)).toEqual([
      'rare 3',
      'a 40',
      'a 40',
      'a 40',
    ]);
    const { revision } = await store.aggregate(JOB_ID, {});
    const naive = foldStates({ job: { ...job, revision }, states, lostTaskIds: new Set() }, {});
    expect(await store.aggregate(JOB_ID, {})).toEqual(naive);
  });

  test('a subscriber behind it gets a gap and the latest of each key', async () => {
    await using opened = await open(createMemoryStorage(), small);
    const { store } = opened;
    const { writers } = await createStaffedJob(store);
    const early = new StreamReader({ store, clock });
    await early.untilKind('synced');
    const { cursor } = early;
    if (!cursor) throw new Error('it has read something');
    await early[Symbol.asyncDispose]();
    for (let round = 1; round <= 30; round += 1) await at(writers, 0).set('a', round);
    await eventually(clock, 'compaction', async () => store.status().logRecords < 20 || undefined);
    const late = new StreamReader({ store, clock }, { after: cursor });
    const events = await late.untilKind('live');
    expect(events.map(({ kind }) => kind)).toEqual(['synced', 'gap', 'change', 'live']);
    expect(events[2]).toMatchObject({ state: { status: 30, version: 30 } });
  });
});

describe('the cache', () => {
  test('evicts the least recently used jobs, and reloads them', async () => {
    await using opened = await open(createMemoryStorage(), { cacheBytesMax: 30_000 });
    const { store, counts } = opened;
    for (let index = 0; index < 20; index += 1) {
      const { writers } = await createStaffedJob(store, { jobId: `job-${index}` });
      await at(writers, 1).set('a', index - 5);
    }
    const { loadedJobs, cacheBytes, jobs } = store.status();
    expect({ jobs, isSmall: loadedJobs < 10 && cacheBytes <= 30_000 }).toEqual({
      jobs: 20,
      isSmall: true,
    });
    for (let index = 0; index < 20; index += 1) {
      const { lowest, cells } = await store.aggregate(`job-${index}`, { taskId: 1 });
      expect({ status: lowest.status, total: cells.total }).toEqual({
        status: index - 5,
        total: 1,
      });
    }
    expect(counts.get('syncline_jobs_cache_misses_total')).toBeGreaterThan(10);
    expect(counts.get('syncline_jobs_cache_bytes')).toBeLessThanOrEqual(30_000);
  });

  test('stays within its limit although every job is followed, and no follower misses a change', async () => {
    const cacheBytesMax = 60_000;
    await using opened = await open(createMemoryStorage(), { cacheBytesMax });
    const { store } = opened;
    const jobs: { readonly writer: TaskWriter; readonly reader: StreamReader }[] = [];
    const message = 'm'.repeat(1_000);
    for (let index = 0; index < 30; index += 1) {
      const jobId = `job-${index}`;
      const { writers } = await createStaffedJob(store, { jobId });
      const reader = new StreamReader({ store, clock }, {}, jobId);
      await reader.untilKind('synced');
      const writer = at(writers, 0);
      for (let status = 1; status <= 5; status += 1) await writer.set('a', status, { message });
      jobs.push({ writer, reader });
    }
    expect(store.status()).toMatchObject({ jobs: 30, subscribers: 30 });
    expect(store.status().cacheBytes).toBeLessThanOrEqual(cacheBytesMax);
    for (const { writer, reader } of jobs) {
      const { revision } = await writer.set('a', 6);
      const events = await reader.untilRevision(revision);
      const statuses = events.flatMap((event) => ('state' in event ? [event.state.status] : []));
      expect(statuses).toEqual([1, 2, 3, 4, 5, 6]);
      expect(events.filter(({ kind }) => kind === 'gap')).toEqual([]);
      void reader.next(); // a waiting reader holds no view
    }
    await eventually(clock, 'room in the cache', async () =>
      store.status().cacheBytes <= cacheBytesMax ? true : undefined,
    );
    for (const { reader } of jobs) await reader[Symbol.asyncDispose]();
    expect(store.status().subscribers).toBe(0);
  });

  test('concurrent calls for jobs that are not in memory all get theirs', async () => {
    await using opened = await open(createMemoryStorage(), { cacheBytesMax: 1 });
    const { store } = opened;
    const ids = Array.from({ length: 10 }, (_, index) => `job-${index}`);
    await Promise.all(ids.map((jobId) => createJob(store, { jobId })));
    const jobs = await Promise.all(ids.map((jobId) => store.getJob(jobId)));
    expect(jobs.map((job) => job?.jobId)).toEqual(ids);
    await Promise.all(ids.map((jobId) => store.updateJob(jobId, { labels: { is: jobId } })));
    const { jobs: listed } = await store.listJobs({});
    expect(listed.map(({ job }) => job.labels)).toEqual(ids.map((is) => ({ is })));
  });
});

describe('views', () => {
  test('a limited number is open at once; further replays wait for one', async () => {
    await using opened = await open(createMemoryStorage(), { openSnapshotsMax: 2 });
    const { store } = opened;
    const { writers } = await createStaffedJob(store);
    for (let status = 1; status < 5; status += 1) await at(writers, 0).set(`tag ${status}`, status);
    const readers = Array.from({ length: 5 }, () => new StreamReader({ store, clock }));
    const firsts = readers.map((reader) => reader.next());
    await Promise.race(firsts);
    expect(store.status().openSnapshots).toBe(2);
    await Promise.all(
      readers.map(async (reader, index) => {
        await firsts[index];
        await reader.untilKind('synced');
      }),
    );
    await eventually(
      clock,
      'closed views',
      async () => store.status().openSnapshots === 0 || undefined,
    );
  });

  test('J17 stalled replays do not prevent others from reading, and continue without a gap when they resume', async () => {
    await using opened = await open(createMemoryStorage(), { openSnapshotsMax: 2 });
    const { store } = opened;
    const { writers } = await createStaffedJob(store);
    const statesCount = 1_500; // more than a page
    for (let status = 1; status <= statesCount; status += 1)
      void at(writers, status % 3).set(`tag ${status % 250}`, status, { durability: 'buffered' });
    await at(writers, 0).set('last', 1);
    const stalled = [0, 1].map(() => new StreamReader({ store, clock }));
    for (const reader of stalled) await reader.next();
    expect(store.status().openSnapshots).toBe(2);
    const quick = new StreamReader({ store, clock });
    const seen = await quick.untilKind('synced');
    expect((await store.listStates(JOB_ID, {}, { afterRevision: 0, limit: 9 })).more).toBe(true);
    for (const reader of stalled) {
      await reader.untilKind('synced');
      expect(reader.seen).toEqual(seen);
    }
  });
});

describe('calls', () => {
  test('one that is aborted while it waits is not applied', async () => {
    await using opened = await open();
    const store: JobStore = opened.store;
    const { writers } = await createStaffedJob(store);
    const stop = new AbortController();
    const call = store.setState(at(writers, 0).write('a', JobStatus.started), {
      signal: stop.signal,
    });
    stop.abort();
    const error = await isRefused(call, 'aborted');
    expect(error.outcome).toBe('not-applied');
    expect(await store.getState(JOB_ID, 0, 'a')).toBeUndefined();
  });
});
