// Jobs whose metadata or head cannot be read: the list names them beside the others, and they can be deleted.
import {
  createMemoryStorage,
  createSystemClock,
  createSystemRandom,
  type Storage,
  StorageBatch,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { describe, expect, test } from 'vitest';
import { at, createJob, createStaffedJob, JOB_ID } from '../conformance/job-samples.js';
import { isRefused } from '../conformance/refused.js';
import { eventually } from '../conformance/stream-reader.js';
import { openEmbeddedJobStore } from './embedded-adapter.js';
import { corruptRow, headKey, jobKey } from './rows.js';

const clock = createSystemClock();

function open(storage: Storage) {
  const deps = { storage, clock, random: createSystemRandom() };
  return openEmbeddedJobStore({ ...deps, logger: silentLogger, metrics: silentMetrics });
}

type Damage = (storage: Storage) => Promise<void>;

function flipped(key: Uint8Array): Damage {
  return async (storage) => {
    const value = storage.get(key);
    if (!value) throw new Error('there is no such row');

    await storage.write(new StorageBatch().put(key, Uint8Array.of(0xff)), { durability: 'synced' });
  };
}

/** The storage itself finds its checksum wrong: it throws, and a range over it breaks off. */
function unreadable(damaged: Uint8Array): Damage {
  return async (storage) => {
    const isIt = (key: Uint8Array) => Buffer.compare(key, damaged) === 0;
    const [get, range] = [storage.get.bind(storage), storage.range.bind(storage)];
    const isThere = () => get(damaged) !== undefined;
    storage.get = (key) => {
      if (isIt(key) && isThere()) throw corruptRow(key);
      return get(key);
    };
    storage.range = (options) => {
      const rows = range(options);
      async function* batches() {
        for await (const entries of rows.batches()) {
          if (entries.some(({ key }) => isIt(key))) throw corruptRow(damaged);
          yield entries;
        }
      }
      return { ...rows, batches };
    };
  };
}

const lostHead: Damage = (storage) =>
  storage.write(new StorageBatch().delete(headKey(1)), { durability: 'synced' });

/** Three jobs; the one in the middle, with one state, is damaged. */
async function damagedStore(damage: Damage) {
  const storage = createMemoryStorage();
  const first = await open(storage);
  const { writers, job } = await createStaffedJob(first, { jobId: JOB_ID });
  await at(writers, 0).set('a', 5);
  await createJob(first, { jobId: `${JOB_ID}-behind` });
  await createJob(first, { jobId: 'before' });
  await first.close();
  await damage(storage);
  const store = await open(storage);
  return { store, storage, incarnation: job.incarnation };
}

const BEHIND = `${JOB_ID}-behind`;

async function kindsOf(storage: Storage): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for await (const { key } of storage.range()) {
    const kind = String.fromCharCode(key[0] ?? 0);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

const headDamages: readonly (readonly [string, Damage])[] = [
  ['its head is damaged', flipped(headKey(1))],
  ['the storage cannot read its head', unreadable(headKey(1))],
  ['its head is missing', lostHead],
];
const metadataDamages: readonly (readonly [string, Damage])[] = [
  ['its metadata is damaged', flipped(jobKey(JOB_ID))],
  ['the storage cannot read its metadata', unreadable(jobKey(JOB_ID))],
];

describe.each([...headDamages, ...metadataDamages])('a job, of which %s', (_, damage) => {
  test('is listed by name, and the others are shown', async () => {
    const { store } = await damagedStore(damage);
    const { jobs, damaged, next } = await store.listJobs({});
    expect(jobs.map(({ job }) => job.jobId).sort()).toEqual([BEHIND, 'before'].sort());
    expect({ damaged, next }).toEqual({ damaged: [JOB_ID], next: undefined });
    await store.close();
  });

  test('takes up an entry on the pages of the list', async () => {
    const { store } = await damagedStore(damage);
    const seen: string[] = [];
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page: Awaited<ReturnType<typeof store.listJobs>> = await store.listJobs({
        limit: 1,
        ...(after !== '' && { afterJobId: after }),
      });
      seen.push(...page.jobs.map(({ job }) => job.jobId), ...(page.damaged ?? []));
      after = page.next;
    }
    expect(seen).toEqual([BEHIND, 'before', JOB_ID].sort());
    await store.close();
  });

  test('can be deleted once, and its name is free again', async () => {
    const { store } = await damagedStore(damage);
    await isRefused(store.getJob(JOB_ID), 'corrupt');
    await isRefused(store.createJob({ jobId: JOB_ID, numTasks: 1 }), 'corrupt');
    expect(store.status().jobs).toBe(3);
    const deleted = await Promise.all([store.deleteJob(JOB_ID), store.deleteJob(JOB_ID)]);
    expect(deleted.filter((isDeleted) => isDeleted)).toHaveLength(1);
    expect(store.status().jobs).toBe(2);
    expect(await store.getJob(JOB_ID)).toBeUndefined();
    expect(await store.listJobs({ prefix: JOB_ID })).toEqual({
      jobs: [expect.objectContaining({ job: await store.getJob(BEHIND) })],
    });
    const { writers } = await createStaffedJob(store, { jobId: JOB_ID });
    expect((await at(writers, 0).set('a', 1)).version).toBe(1);
    await store.close();
  });
});

describe('deleting a damaged job', () => {
  test.each(headDamages)('removes its rows: %s', async (_, damage) => {
    const { store, storage } = await damagedStore(damage);
    await store.deleteJob(JOB_ID);
    await eventually(clock, 'removal', async () => store.status().deletions === 0 || undefined);
    const kinds = await kindsOf(storage);
    expect(Object.fromEntries(kinds)).toEqual({ n: 2, h: 2, l: 2, s: 1 });
    await store.close();
  });

  test('counts once, even if two callers delete it while the disk is slow', async () => {
    const { store, storage } = await damagedStore(lostHead);
    const write = storage.write.bind(storage);
    storage.write = async (...args) => {
      await clock.sleep(1);
      return write(...args);
    };
    const deleted = await Promise.all([store.deleteJob(JOB_ID), store.deleteJob(JOB_ID)]);
    expect(deleted.filter(Boolean)).toHaveLength(1);
    expect(store.status().jobs).toBe(2);
    await store.close();
  });

  test.each(headDamages)(
    'is refused if the caller means another incarnation: %s',
    async (_, damage) => {
      const { store, incarnation } = await damagedStore(damage);
      await isRefused(store.deleteJob(JOB_ID, { incarnation: 'another' }), 'fenced');
      expect(await store.deleteJob(JOB_ID, { incarnation })).toBe(true);
      await store.close();
    },
  );

  test.each(metadataDamages)(
    'is refused if the caller means a particular incarnation, since that cannot be checked: %s',
    async (_, damage) => {
      const { store, incarnation } = await damagedStore(damage);
      await isRefused(store.deleteJob(JOB_ID, { incarnation }), 'corrupt');
      expect(await store.deleteJob(JOB_ID)).toBe(true);
      await store.close();
    },
  );
});
