// Calls that take longer than anybody waits: what a caller was told stays true, and closing does not hang.
import { createSystemClock } from '@syncline/kernel';
import { startFirestore, type TestFirestore } from '@syncline/testkit/firestore';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createStaffedJob, TaskWriter } from '../conformance/job-samples.js';
import { StreamReader } from '../conformance/stream-reader.js';
import { createFirestoreJobStore } from './create-firestore-job-store.js';
import type { FirestoreJobStoreOptions } from './firestore-options.js';

let server: TestFirestore;
beforeEach(async () => {
  server = await startFirestore();
});
afterEach(() => server[Symbol.asyncDispose]());

const open = (options: Partial<FirestoreJobStoreOptions> = {}) =>
  createFirestoreJobStore({ projectId: 'test', ...server.settings, ...options });

test('J1 a write that timed out before its commit is not committed later, over a newer one', async () => {
  await using other = open();
  const { job } = await createStaffedJob(other, { numTasks: 1 });
  const store = open({ callTimeoutMs: 1_000 });
  const writer = await TaskWriter.claim(store, job);
  server.gate.setFaults({ delayMs: Number.POSITIVE_INFINITY });
  const late = writer.send('ingest', 1);
  await expect(late).rejects.toMatchObject({ code: 'timeout', outcome: 'not-applied' });
  server.gate.setFaults({});
  expect(await writer.set('ingest', 2)).toMatchObject({ version: 1 });
  server.gate.letGo();
  await store.close(); // which waits for what is under way
  expect(await other.getState('job', 0, 'ingest')).toMatchObject({ status: 2, version: 1 });
});

test('J21 closing does not wait for reads that get no answer', async () => {
  const clock = createSystemClock();
  const store = open({ pollMs: 10, reachTimeoutMs: 30_000, callTimeoutMs: 30_000 });
  await createStaffedJob(store, { numTasks: 1 });
  await using reader = new StreamReader({ store, clock });
  await reader.untilKind('synced');
  server.gate.setFaults({ delayMs: Number.POSITIVE_INFINITY });
  await expect.poll(() => server.gate.delayedCount).toBeGreaterThan(0);
  const read = store.listJobs({});
  read.catch(() => {});
  const before = clock.monotonicMs();
  await store.close();
  expect(clock.monotonicMs() - before).toBeLessThan(2_500);
  await expect(read).rejects.toMatchObject({ code: 'closed', outcome: 'not-applied' });
});
