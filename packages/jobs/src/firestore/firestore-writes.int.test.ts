// Writes to Firestore with the real client: what is stored, who wins, and what a lost reply leaves behind.
import { startFirestore, type TestFirestore } from '@syncline/testkit/firestore';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { at, createStaffedJob, TaskWriter } from '../conformance/job-samples.js';
import { createFirestoreJobStore } from './create-firestore-job-store.js';

declare module 'vitest' {
  interface ProvidedContext {
    jobsContenders: number;
  }
}

const PROCESSES = inject('jobsContenders');

let server: TestFirestore;
beforeAll(async () => {
  server = await startFirestore();
});
afterAll(() => server[Symbol.asyncDispose]());

/** A database per test, a client per call: what another process would have. */
const processOf = (projectId: string) =>
  createFirestoreJobStore({ projectId, ...server.settings, callTimeoutMs: 5_000 });

test('what Firestore itself could not hold comes back: lists in lists, reserved names, slashes', async () => {
  await using store = processOf('odd-content');
  const labels = { __name__: 'x', 'a.b': 'y' };
  const { job } = await store.createJob({ jobId: 'job', numTasks: 1, labels });
  expect(job.labels).toEqual(labels);
  const writer = await TaskWriter.claim(store, job);
  const payload = { list: [[1], [[]]], __x__: { '': null } };
  const state = await writer.set('a/b/../ä', 7, { payload });
  await using other = processOf('odd-content');
  expect(await other.getState('job', 0, 'a/b/../ä')).toEqual(state);
  expect(await other.getJob('job')).toMatchObject({ labels, revision: 3 });
});

test('J15 J1 of several processes one creates the job, and no write of any is lost', async () => {
  const stores = Array.from({ length: PROCESSES }, () => processOf('contention'));
  const spec = (taskId: number) => ({ jobId: 'job', numTasks: PROCESSES + taskId });
  const answers = await Promise.all(stores.map((store, taskId) => store.createJob(spec(taskId))));
  expect(answers.filter(({ created }) => created)).toHaveLength(1);
  expect(new Set(answers.map(({ job }) => job.numTasks)).size).toBe(1);
  const states = await Promise.all(
    stores.map(async (store, taskId) => {
      const writer = await TaskWriter.claim(store, at(answers, taskId).job, { taskId });
      return writer.set('ingest', taskId);
    }),
  );
  expect(new Set(states.map(({ revision }) => revision)).size).toBe(PROCESSES);
  const [reader] = stores;
  expect(await reader?.getJob('job')).toMatchObject({ revision: 1 + 2 * PROCESSES });
  const page = await reader?.listStates('job', {}, { afterRevision: 0, limit: 100 });
  expect(page?.states.map(({ status }) => status).sort((a, b) => a - b)).toEqual(
    states.map((_, taskId) => taskId),
  );
  expect(server.gate.abortedCount).toBeGreaterThan(0);
  await Promise.all(stores.map((store) => store.close()));
});

test('J2 J1 a write whose reply is lost is sent again, and makes one version', async () => {
  await using store = processOf('lost-replies');
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  const writer = at(writers, 0);
  await writer.set('ingest', 1);
  server.gate.setFaults({ losesCommitReplies: true });
  const lost = writer.send('ingest', 2);
  await expect.poll(async () => (await store.getState('job', 0, 'ingest'))?.version).toBe(2);
  server.gate.setFaults({});
  expect(await lost).toMatchObject({ applied: true, duplicate: true, state: { version: 2 } });
  expect(await writer.set('ingest', 3)).toMatchObject({ version: 3 });
});

test('what is written at once goes together, up to 50 in a transaction', async () => {
  await using store = processOf('groups');
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  const writer = at(writers, 0);
  const before = server.gate.committedCount;
  const states = await Promise.all(
    Array.from({ length: 120 }, (_, index) => writer.set(`tag ${index % 30}`, index)),
  );
  expect(server.gate.committedCount - before).toBe(3);
  expect(states.map(({ version }) => version)).toEqual(
    states.map((_, index) => 1 + Math.floor(index / 30)),
  );
  expect(new Set(states.map(({ timestampMs }) => timestampMs)).size).toBeLessThanOrEqual(3);
  const repeat = await store.setState({
    ...writer.write('tag 0', 0),
    eventId: at(states, 30).eventId,
    status: 30,
    message: 'status 30',
  });
  expect(repeat).toEqual({ applied: true, duplicate: true, state: at(states, 30) });
});

test('a call that fails says whether it may have been applied', async () => {
  const settings = { projectId: 'no-answer', ...server.settings, callTimeoutMs: 1_000 };
  await using store = createFirestoreJobStore(settings);
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  const send = () => at(writers, 0).send('ingest', 1);
  server.gate.setFaults({ commitsLeft: 0 });
  await expect(send()).rejects.toMatchObject({ code: 'unavailable', outcome: 'unknown' });
  server.gate.setFaults({ isRefusing: true });
  await expect(send()).rejects.toMatchObject({ code: 'timeout', outcome: 'not-applied' });
  server.gate.setFaults({});
  expect(await send()).toMatchObject({ applied: true });
});
