// What can happen to the disk of the embedded store: it is slow, full or broken, and comes back after a restart.
import type { SynclineError } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import {
  at,
  createJob,
  createStaffedJob,
  currentRevision,
  JOB_ID,
  TaskWriter,
} from '../conformance/job-samples.js';
import { isRefused } from '../conformance/refused.js';
import { StreamReader } from '../conformance/stream-reader.js';
import { TimerCount } from '../conformance/timer-count.js';
import { JobStatus } from '../job.js';
import { type EmbeddedJobStoreOptions, openEmbeddedJobStore } from './embedded-adapter.js';

async function openIn(world: SimulatedBody, options?: EmbeddedJobStoreOptions) {
  const storage = await world.openStorage('jobs');
  const clock = new TimerCount(world.clock);
  const store = await openEmbeddedJobStore({ ...world, clock, storage }, options);
  return { storage, store, clock };
}

function inWorld(body: (world: SimulatedBody) => Promise<void>): Promise<void> {
  return runInSimulation(1, body, { eventsMax: 2_000_000 });
}

describe('a slow disk', () => {
  test.each(['synced', 'buffered'] as const)('J4 shows nothing before it is %s', (durability) =>
    inWorld(async (world) => {
      const { store, storage } = await openIn(world);
      const { writers } = await createStaffedJob(store);
      await at(writers, 0).set('a', 1, { durability }); // the tag and the mark are there
      let stored = 0;
      const write = storage.write.bind(storage);
      storage.write = async (batch, options) => {
        expect(options.durability).toBe(durability);
        await world.clock.sleep(500);
        await write(batch, options);
        stored += 1;
      };
      const reader = new StreamReader({ store, clock: world.clock });
      await reader.untilKind('synced');
      const live = reader.next().then((event) => {
        expect(stored, 'J4 an event').toBe(1);
        return event;
      });
      const answered = at(writers, 0).set('a', 2, { durability });
      for (let asked = 0; asked < 40; asked += 1) {
        await world.clock.sleep(12);
        const state = await store.getState(JOB_ID, 0, 'a');
        const { states } = await store.listStates(JOB_ID, {}, { afterRevision: 0, limit: 10 });
        const { cells, revision } = await store.aggregate(JOB_ID, { taskId: 0 });
        const isSeen = [state?.status, states[0]?.status].includes(2);
        expect(isSeen, `J4 after ${stored} writes`).toBe(stored === 1);
        expect({ running: cells.running, isNew: revision > 5 }).toEqual({
          running: 1,
          isNew: stored === 1,
        });
      }
      expect((await answered).status).toBe(2);
      expect(await live).toMatchObject({ kind: 'change', state: { status: 2 } });
    }),
  );

  test('J3 a batch is synced if one write in it requests it', () =>
    inWorld(async (world) => {
      const { store, storage } = await openIn(world);
      const { writers } = await createStaffedJob(store);
      await Promise.all(writers.map((writer) => writer.set('a', 1, { durability: 'buffered' })));
      const asked: string[] = [];
      const write = storage.write.bind(storage);
      storage.write = (batch, options) => {
        asked.push(options.durability);
        return write(batch, options);
      };
      const sets = writers.map((writer, index) =>
        writer.set('a', 2, { durability: index === 1 ? 'synced' : 'buffered' }),
      );
      await Promise.all(sets);
      await at(writers, 0).set('a', 3, { durability: 'buffered' });
      await at(writers, 0).set('new tag', 3, { durability: 'buffered' });
      expect(asked).toEqual(['synced', 'buffered', 'synced']);
    }));

  test('writes beyond the queue are refused as overloaded, those before are applied', () =>
    inWorld(async (world) => {
      const { store } = await openIn(world);
      const writer = await TaskWriter.claim(store, await createJob(store));
      const results = await Promise.allSettled(
        Array.from({ length: 9_000 }, (_, index) => writer.set('a', index + 1)),
      );
      const refused = results.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
      expect(refused[0]).toMatchObject({ code: 'overloaded', retryable: true });
      expect((await store.getState(JOB_ID, 0, 'a'))?.version).toBe(9_000 - refused.length);
    }));
});

describe('a job that is slow to load', () => {
  test('its writes count as waiting: those beyond the queue are refused before it is there', () =>
    inWorld(async (world) => {
      const { store, storage } = await openIn(world, { cacheBytesMax: 1 });
      const writer = await TaskWriter.claim(store, await createJob(store));
      await createJob(store, { jobId: 'other' }); // takes its place in memory
      const whenReadable = storage.whenReadable.bind(storage);
      storage.whenReadable = async () => {
        await world.clock.sleep(1_000);
        await whenReadable();
      };
      const over = 10;
      const codes: string[] = [];
      const sets = Array.from({ length: 8_192 + over }, (_, index) =>
        writer.set('a', index + 1).catch((error: SynclineError) => void codes.push(error.code)),
      );
      await world.clock.sleep(500);
      expect(codes).toEqual(Array.from({ length: over }, () => 'overloaded'));
      await Promise.all(sets);
      expect((await store.getState(JOB_ID, 0, 'a'))?.version).toBe(8_192);
    }));
});

describe('a full disk', () => {
  test('fails each write with storage-full, uses no revision, and continues once there is space', () =>
    inWorld(async (world) => {
      const { store } = await openIn(world);
      const { writers } = await createStaffedJob(store);
      const writer = at(writers, 0);
      const before = await writer.set('a', 1);
      const reader = new StreamReader({ store, clock: world.clock });
      await reader.untilKind('synced');
      world.node.disk.adjust({ isFull: true });
      for (let tries = 0; tries < 3; tries += 1) {
        await isRefused(writer.send('a', 2), 'storage-full');
        expect(await store.getState(JOB_ID, 0, 'a')).toEqual(before);
        expect(await currentRevision(store)).toBe(before.revision);
      }
      await writer.act('renew');
      expect(store.status().storage?.kind).toBe('full');
      const replay = new StreamReader({ store, clock: world.clock });
      expect((await replay.untilKind('synced')).map(({ kind }) => kind)).toEqual([
        'snapshot',
        'synced',
      ]);
      world.node.disk.adjust({ isFull: false });
      const after = await writer.set('a', 3);
      expect([after.version, after.revision]).toEqual([before.version + 1, before.revision + 1]);
      const [event] = await reader.untilRevision(after.revision);
      expect(event).toMatchObject({ kind: 'change', state: { status: 3 } });
    }));
});

describe('a disk that fills up again while the storage is reopened', () => {
  test('makes the store unavailable until there is space: nothing hangs, and nothing is lost', () =>
    inWorld(async (world) => {
      const { store, storage } = await openIn(world, { cacheBytesMax: 1 });
      const { writers } = await createStaffedJob(store);
      const writer = at(writers, 0);
      const before = await writer.set('a', 1);
      await createJob(store, { jobId: 'other' }); // takes its place in memory
      world.node.disk.adjust({ isFull: true });
      await isRefused(store.createJob({ jobId: 'third', numTasks: 1 }), 'storage-full');
      world.node.disk.adjust({ isFull: false });
      const refused = isRefused(store.createJob({ jobId: 'third', numTasks: 1 }), 'storage-full');
      while (storage.health().kind !== 'reopening') await world.clock.sleep(1);
      world.node.disk.adjust({ isFull: true });
      await refused;
      await isRefused(store.getState(JOB_ID, 0, 'a'), 'unavailable');
      await isRefused(writer.send('a', 2), 'unavailable');
      const replay = new StreamReader({ store, clock: world.clock });
      world.node.disk.adjust({ isFull: false });
      expect(await store.getState(JOB_ID, 0, 'a')).toEqual(before);
      expect((await writer.set('a', 2)).version).toBe(before.version + 1);
      expect((await replay.untilKind('synced')).at(-1)?.kind).toBe('synced');
    }));
});

describe('a broken disk', () => {
  test('is storage-failed: no more writes, reads continue', () =>
    inWorld(async (world) => {
      const { store } = await openIn(world);
      const { writers } = await createStaffedJob(store);
      const writer = at(writers, 0);
      const before = await writer.set('a', 1);
      world.node.disk.adjust({ syncFailureProbability: 1 });
      const error = await isRefused(writer.send('a', 2), 'storage-failed');
      expect(error.outcome).toBe('unknown');
      world.node.disk.adjust({ syncFailureProbability: 0 });
      await isRefused(writer.send('a', 3), 'storage-failed');
      await isRefused(store.createJob({ jobId: 'other', numTasks: 1 }), 'storage-failed');
      expect(await store.getState(JOB_ID, 0, 'a')).toEqual(before);
      expect((await store.aggregate(JOB_ID, {})).revision).toBe(before.revision);
      expect(store.status().storage?.kind).toBe('failed');
    }));
});

describe('a deletion', () => {
  test('J8 while a read waits for its view: the job is not found, and nothing of it is damaged', () =>
    inWorld(async (world) => {
      const { store } = await openIn(world, { openSnapshotsMax: 1 });
      const { job: other, writers: others } = await createStaffedJob(store, { jobId: 'other' });
      for (const tag of ['a', 'b']) await at(others, 0).set(tag, 1);
      const { writers } = await createStaffedJob(store);
      await at(writers, 0).set('a', 1);
      const replay = store.subscribe(other.jobId, { scope: {} })[Symbol.asyncIterator]();
      await replay.next(); // it holds the only view
      const scopes = [{}, { taskId: 0 }, { tag: 'a' }];
      const page = { afterRevision: 0, limit: 10 };
      const reads = scopes.map((scope) =>
        isRefused(store.listStates(JOB_ID, scope, page), 'not-found'),
      );
      await store.deleteJob(JOB_ID);
      while ((store.status().deletions ?? 0) > 0) await world.clock.sleep(1);
      await replay.return?.();
      await Promise.all(reads);
      expect(store.status().openSnapshots).toBe(0);
    }));
});

describe('a restart', () => {
  /** Closes cleanly, or not at all, and reopens in the same process. */
  async function reopen(
    world: SimulatedBody,
    first: Awaited<ReturnType<typeof openIn>>,
    how: 'clean' | 'unclean',
  ) {
    if (how === 'clean') await first.store.close();
    await first.storage.close();
    return openIn(world);
  }

  test('J18 gives held leases a full ttl: the downtime of the store does not count', () =>
    inWorld(async (world) => {
      const first = await openIn(world);
      const job = await createJob(first.store);
      const writer = await TaskWriter.claim(first.store, job, { ttlMs: 10_000 });
      await writer.set('a', JobStatus.started);
      await world.clock.sleep(9_000);
      const { store } = await reopen(world, first, 'clean');
      const startMs = world.clock.monotonicMs();
      await world.clock.sleep(9_900);
      expect(await store.listLost(JOB_ID)).toEqual([]);
      while ((await store.listLost(JOB_ID)).length === 0) await world.clock.sleep(10);
      const tookMs = world.clock.monotonicMs() - startMs;
      expect(tookMs).toBeGreaterThanOrEqual(10_000);
      expect(tookMs).toBeLessThan(11_000 + 100); // and the disk
      const summary = (await store.listJobs({})).jobs[0];
      expect(summary?.lostTasks).toBe(1);
    }));

  test('J18 detects an overdue lease whose job is not in memory, and ignores a finished one', () =>
    inWorld(async (world) => {
      const first = await openIn(world);
      for (const [jobId, status] of [
        ['idle', JobStatus.finished],
        ['busy', JobStatus.started],
      ] as const) {
        const job = await createJob(first.store, { jobId });
        const writer = await TaskWriter.claim(first.store, job, { ttlMs: 1_000 });
        await writer.set('a', status);
      }
      const { store } = await reopen(world, first, 'clean');
      await world.clock.sleep(5_000);
      expect(await store.listLost('busy')).toMatchObject([{ taskId: 0, epoch: 1, state: 'lost' }]);
      expect(await store.listLost('idle')).toEqual([]);
    }));

  test.each([
    { how: 'clean', durability: 'synced', resumes: true },
    { how: 'clean', durability: 'buffered', resumes: true },
    { how: 'unclean', durability: 'synced', resumes: true },
    { how: 'unclean', durability: 'buffered', resumes: false },
  ] as const)(
    '$how after $durability writes: resumes is $resumes',
    ({ how, durability, resumes }) =>
      inWorld(async (world) => {
        const first = await openIn(world);
        const { writers } = await createStaffedJob(first.store);
        const writer = at(writers, 0);
        const last = await writer.set('a', 1, { durability });
        const before = new StreamReader({ store: first.store, clock: world.clock });
        const after = (await before.untilKind('synced'))
          .flatMap((e) => ('cursor' in e ? [e.cursor] : []))
          .at(-1);
        if (!after) throw new Error('`synced` has a cursor');
        const { store } = await reopen(world, first, how);
        const reader = new StreamReader({ store, clock: world.clock }, { after });
        const event = await reader.next();
        if (resumes) expect(event).toMatchObject({ kind: 'synced', resumed: true });
        else
          expect(event).toMatchObject({
            kind: 'gap',
            reason: 'reset',
            fromRevision: last.revision,
          });
        const again = await store.setState(writer.write('a', 2));
        expect(again, 'its managers continue').toMatchObject({
          applied: true,
          state: { version: 2 },
        });
      }),
  );

  test.each([
    { trouble: { isFull: true }, remedy: { isFull: false } },
    { trouble: { syncFailureProbability: 1 }, remedy: { syncFailureProbability: 0 } },
  ])(
    'after buffered writes that could not be secured: cursors reset ($trouble)',
    ({ trouble, remedy }) =>
      inWorld(async (world) => {
        const first = await openIn(world);
        const { writers } = await createStaffedJob(first.store);
        await at(writers, 0).set('a', 1, { durability: 'buffered' });
        const before = new StreamReader({ store: first.store, clock: world.clock });
        const synced = (await before.untilKind('synced')).at(-1);
        if (!synced || !('cursor' in synced)) throw new Error('`synced` has a cursor');
        world.node.disk.adjust(trouble);
        await first.store.close();
        await first.storage.close();
        world.node.disk.adjust(remedy);
        const { store } = await openIn(world);
        const reader = new StreamReader({ store, clock: world.clock }, { after: synced.cursor });
        expect(await reader.next()).toMatchObject({ kind: 'gap', reason: 'reset' });
      }),
  );

  test('continues to remove the rows of a deleted job', () =>
    inWorld(async (world) => {
      const first = await openIn(world, { compactionKeysMax: 5 });
      const { writers } = await createStaffedJob(first.store);
      for (let round = 1; round <= 20; round += 1) {
        await Promise.all(writers.map((writer) => writer.set(`tag ${round % 5}`, round)));
      }
      await first.store.deleteJob(JOB_ID);
      expect(first.store.status().deletions).toBe(1);
      await first.storage.close();
      const { store, storage } = await openIn(world);
      const job = await createJob(store);
      expect(job).toMatchObject({ revision: 1 });
      while ((store.status().deletions ?? 0) > 0) await world.clock.sleep(10);
      const kinds: string[] = [];
      for await (const { key } of storage.range()) kinds.push(String.fromCharCode(key[0] ?? 0));
      expect(kinds).toEqual(['h', 'l', 'n', 's']); // of the new job alone
      expect(store.status().logRecords).toBe(1);
    }));

  test('J21 leaves no timer behind when it ends', () =>
    inWorld(async (world) => {
      const { store, clock } = await openIn(world, { compactionKeysMax: 5 });
      const job = await createJob(store);
      const writer = await TaskWriter.claim(store, job, { ttlMs: 5_000 });
      await writer.set('a', 1);
      const reader = new StreamReader({ store, clock: world.clock });
      await reader.untilKind('synced');
      const pending = writer.set('a', 2);
      await store.close();
      expect((await pending).version, 'calls in flight are answered').toBe(2);
      await world.clock.sleep(1);
      expect(clock.pending).toBe(0);
      await isRefused(writer.send('a', 3), 'closed');
    }));

  test('J21 waits for a view that is being read when it ends', () =>
    inWorld(async (world) => {
      const { store, clock } = await openIn(world);
      const { writers } = await createStaffedJob(store);
      await at(writers, 0).set('a', 1);
      const page = { afterRevision: 0, limit: 10 };
      const readers = [store.subscribe(JOB_ID, { scope: {} }).batches()[Symbol.asyncIterator]()];
      const reads = [store.listStates(JOB_ID, {}, page), ...readers.map((each) => each.next())];
      while (store.status().openSnapshots < reads.length) await Promise.resolve();
      await store.close();
      expect([store.status().openSnapshots, clock.pending]).toEqual([0, 0]);
      expect(await reads[0]).toMatchObject({ states: [{ version: 1 }] });
      expect(await reads[1]).toEqual({ done: true, value: undefined });
    }));
});
