// LevelDB silently drops a damaged record of its log. The affected rows are then in an older state, while later
// records are there: the job must report this to every caller.
import {
  createMemoryStorage,
  createSystemClock,
  createSystemRandom,
  type Storage,
  StorageBatch,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { expect, test } from 'vitest';
import { at, createStaffedJob, JOB_ID } from '../conformance/job-samples.js';
import { isRefused } from '../conformance/refused.js';
import { openEmbeddedJobStore } from './embedded-adapter.js';
import { cellKey, logKey, taskKey } from './rows.js';

function open(storage: Storage) {
  const deps = { storage, clock: createSystemClock(), random: createSystemRandom() };
  return openEmbeddedJobStore({ ...deps, logger: silentLogger, metrics: silentMetrics });
}

/** Two tasks, each with two versions of a tag. `undo` reverts the second write of task 0. */
async function twoVersions(undo: (storage: Storage, before: Storage['get']) => StorageBatch) {
  const storage = createMemoryStorage();
  const store = await open(storage);
  const { writers } = await createStaffedJob(store, { numTasks: 2 });
  for (const writer of writers) await writer.set('a', 1);
  const snapshot = storage.snapshot();
  await at(writers, 0).set('a', 2);
  await at(writers, 1).set('a', 2);
  await store.close();
  await storage.write(
    undo(storage, (key) => snapshot.get(key)),
    { durability: 'synced' },
  );
  snapshot.close();
  return open(storage);
}

test('J3 a job that lacks an acknowledged write is corrupt for every reader and writer', async () => {
  await using store = await twoVersions((_, before) => {
    const cell = cellKey(1, 0, 0);
    const batch = new StorageBatch().delete(logKey(1, 6));
    return batch.put(cell, before(cell) ?? Uint8Array.of());
  });
  const job = await store.getJob(JOB_ID);
  const incarnation = job?.incarnation ?? '';
  await isRefused(store.getState(JOB_ID, 0, 'a'), 'corrupt');
  await isRefused(store.aggregate(JOB_ID, {}), 'corrupt');
  await isRefused(store.listStates(JOB_ID, {}, { afterRevision: 0, limit: 10 }), 'corrupt');
  await isRefused(firstEvent(store.subscribe(JOB_ID, { scope: {} })), 'corrupt');
  const claim = { action: 'claim', epoch: 0, ttlMs: 0, holder: '' } as const;
  await isRefused(store.lease({ jobId: JOB_ID, incarnation, taskId: 0, ...claim }), 'corrupt');
  expect(await store.deleteJob(JOB_ID)).toBe(true);
});

test('J3 so is one that lacks a claim: its epoch would be assigned twice', async () => {
  await using store = await twoVersions(() => new StorageBatch().delete(taskKey(1, 1)));
  await isRefused(store.aggregate(JOB_ID, {}), 'corrupt');
});

test('a complete job is read normally', async () => {
  await using store = await twoVersions(() => new StorageBatch());
  expect(await store.getState(JOB_ID, 0, 'a')).toMatchObject({ version: 2 });
});

async function firstEvent(events: AsyncIterable<unknown>): Promise<unknown> {
  for await (const event of events) return event;
  return undefined;
}
