// The Firestore store with the real client, against the emulator behind the gate.
import { startFirestore, type TestFirestore } from '@syncline/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobInfo, TaskLease } from '../job.js';
import type { JobEvent } from '../job-event.js';
import type { JobStore, StateWrite } from '../job-store.js';
import { createFirestoreJobStore } from './create-firestore-job-store.js';
import type { FirestoreJobStoreOptions } from './firestore-options.js';

let server: TestFirestore;
beforeAll(async () => {
  server = await startFirestore();
});
afterAll(() => server[Symbol.asyncDispose]());

let jobsCount = 0;
const newJobId = () => `job-${(jobsCount += 1)}`;

function open(options: Partial<FirestoreJobStoreOptions> = {}): JobStore {
  return createFirestoreJobStore({
    projectId: 'test',
    ...server.settings,
    pollMs: 50,
    reachTimeoutMs: 300,
    callTimeoutMs: 2_000,
    reconnect: { initialMs: 10, maxMs: 40 },
    ...options,
  });
}

async function claim(store: JobStore, job: JobInfo, taskId = 0): Promise<TaskLease> {
  const { jobId, incarnation } = job;
  const request = { jobId, incarnation, taskId, action: 'claim', epoch: 0 } as const;
  return store.lease({ ...request, ttlMs: 30_000, holder: 'test' });
}

let eventsCount = 0;
function write(job: JobInfo, lease: TaskLease, more: Partial<StateWrite> = {}): StateWrite {
  const { jobId, incarnation } = job;
  const { taskId, epoch } = lease;
  const eventId = `event-${(eventsCount += 1)}`;
  const content = { tag: 'ingest', status: 1, message: 'm', schemaVersion: 1 };
  return { jobId, incarnation, taskId, epoch, eventId, ...content, ...more };
}

test('a state is written, read back, listed, counted and seen by a subscriber', async () => {
  await using store = open();
  const jobId = newJobId();
  const { job, created } = await store.createJob({ jobId, numTasks: 2, labels: { a: 'b' } });
  expect(created).toBe(true);
  expect(job).toMatchObject({ numTasks: 2, labels: { a: 'b' }, revision: 1 });
  const lease = await claim(store, job);
  const payload = { list: [[1], [2]], __x__: true };
  const result = await store.setState(write(job, lease, { payload, status: 7 }));
  expect(result).toMatchObject({ applied: true, duplicate: false, state: { version: 1, payload } });
  expect(await store.getState(jobId, 0, 'ingest')).toEqual(result.applied && result.state);
  const page = await store.listStates(jobId, {}, { afterRevision: 0, limit: 10 });
  expect(page).toMatchObject({ revision: 3, more: false, states: [{ status: 7 }] });
  expect((await store.aggregate(jobId, {})).cells).toMatchObject({ running: 1, notStarted: 1 });
  expect((await store.listJobs({})).jobs).toMatchObject([
    { job: { jobId, revision: 3 }, cells: { running: 1, notStarted: 1, total: 2 }, lostTasks: 0 },
  ]);
  const events: JobEvent[] = [];
  for await (const event of store.subscribe(jobId, { scope: {} })) {
    events.push(event);
    if (event.kind === 'synced') await store.setState(write(job, lease, { status: 8 }));
    if (event.kind === 'change') break;
  }
  expect(events).toMatchObject([
    { kind: 'snapshot', state: { status: 7, revision: 3 } },
    { kind: 'synced', revision: 3, history: 'latest' },
    { kind: 'change', state: { status: 8, revision: 4, version: 2 } },
  ]);
});
