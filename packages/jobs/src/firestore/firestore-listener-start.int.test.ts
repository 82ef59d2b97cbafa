// How listening begins, how it fails for good, and when it ends because nobody needs it.
import { Firestore } from '@google-cloud/firestore';
import { createSystemClock } from '@syncline/kernel';
import { startFirestore, type TestFirestore } from '@syncline/testkit/firestore';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { at, createStaffedJob } from '../conformance/job-samples.js';
import { StreamReader } from '../conformance/stream-reader.js';
import { createFirestoreJobStore } from './create-firestore-job-store.js';
import type { FirestoreJobStoreOptions } from './firestore-options.js';

const clock = createSystemClock();

let server: TestFirestore;
beforeEach(async () => {
  server = await startFirestore();
});
afterEach(() => server[Symbol.asyncDispose]());

const open = (options: Partial<FirestoreJobStoreOptions> = {}) =>
  createFirestoreJobStore({ projectId: 'test', ...server.settings, ...options });

async function waitMs(ms: number): Promise<void> {
  const sinceMs = clock.monotonicMs();
  await expect.poll(() => clock.monotonicMs() - sinceMs).toBeGreaterThan(ms);
}

test('the first snapshot may take longer than a listener that lives may be behind', async () => {
  await using writer = open();
  const { writers } = await createStaffedJob(writer, { numTasks: 1 });
  await using store = open({ reachTimeoutMs: 250, reconnect: { attempts: 1, initialMs: 1 } });
  await store.getJob('job');
  server.gate.setFaults({ isMute: true });
  const progress = store.aggregate('job', {});
  progress.catch(() => {});
  await expect.poll(() => server.gate.streamsCount).toBe(1);
  await waitMs(600);
  server.gate.setFaults({});
  await at(writers, 0).set('ingest', 1);
  expect(await progress).toMatchObject({ lostTasks: 0 });
});

test('a document that nobody can read ends listening at once, and is not quoted', async () => {
  await using store = open();
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  await at(writers, 0).set('ingest', 1, { payload: { a: 1 } });
  const firestore = new Firestore({ projectId: 'test', ...server.settings });
  const { docs } = await firestore.collection('jobs/job/states').where('version', '==', 1).get();
  await at(docs, 0).ref.update({ payload: '{"secret' });
  await firestore.terminate();
  const failure = await store.aggregate('job', {}).catch((thrown: unknown) => thrown);
  expect(failure).toMatchObject({ code: 'corrupt', details: { field: 'payload' } });
  expect(String(failure)).not.toContain('secret');
});

test('the time without need begins when the last subscription has ended', async () => {
  const listenIdleMs = 500;
  await using store = open({ pollMs: 20, listenIdleMs });
  await createStaffedJob(store, { numTasks: 1 });
  const reader = new StreamReader({ store, clock });
  await reader.untilKind('synced');
  await waitMs(listenIdleMs);
  const endedAtMs = clock.monotonicMs();
  await reader[Symbol.asyncDispose]();
  await expect.poll(() => server.gate.streamsCount, { timeout: 5_000 }).toBe(0);
  expect(clock.monotonicMs() - endedAtMs).toBeGreaterThan(listenIdleMs / 2);
});
