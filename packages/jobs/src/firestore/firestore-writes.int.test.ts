// Writes to Firestore with the real client: what is stored, who wins, and what a lost reply leaves behind.
import { Firestore } from '@google-cloud/firestore';
import { createSystemClock } from '@syncline/kernel';
import { startFirestore, type TestFirestore } from '@syncline/testkit/firestore';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { at, createJob, createStaffedJob, TaskWriter } from '../conformance/job-samples.js';
import { StreamReader } from '../conformance/stream-reader.js';
import { createFirestoreJobStore, type FirestoreJobStoreOptions } from './firestore-job-store.js';

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
afterEach(() => {
  server.gate.setFaults({});
  server.gate.letGo(); // a test that failed must not hold up the next one
});
afterAll(() => server[Symbol.asyncDispose]());

/** A database per test, a client per call: what another process would have. */
const processOf = (projectId: string) =>
  createFirestoreJobStore({ projectId, ...server.settings, callTimeoutMs: 60_000 });

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
  expect(await other.getJob('job')).toMatchObject({ labels, revision: state.revision });
});

test('documents have the documented paths, and the update time of each is the revision', async () => {
  await using store = processOf('layout');
  const { job, writers } = await createStaffedJob(store, { numTasks: 2 });
  const writer = await TaskWriter.claim(store, job, { taskId: 1, ttlMs: 60_000 });
  const first = await at(writers, 0).set('ingest', 1, { progress: 0.4 });
  const second = await writer.set('a/b 100%', 5);
  const client = new Firestore({ projectId: 'layout', ...server.settings });
  const idsIn = async (name: string) =>
    (await client.collection(`jobs/job/${name}`).get()).docs.map(({ id }) => id).sort();
  expect(await idsIn('states')).toEqual(['0', '0-ingest', '1', '1-a%2Fb 100%25', 'job']);
  expect([await idsIn('tasks'), await idsIn('leases')]).toEqual([['0', '1'], ['1']]);
  const stored = await client.doc('jobs/job/states/0-ingest').get();
  expect(stored.data()).toMatchObject({ taskID: 0, tag: 'ingest', status: 1, progress: 0.4 });
  const { seconds = 0, nanoseconds = 0 } = stored.updateTime ?? {};
  expect(first.revision).toBe(seconds * 1_000_000 + nanoseconds / 1_000);
  expect(first.timestampMs).toBe(Math.floor(first.revision / 1_000));
  expect(second.revision).toBeGreaterThan(first.revision);
  await client.terminate();
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
  const last = Math.max(...states.map(({ revision }) => revision));
  expect(await reader?.getJob('job')).toMatchObject({ revision: last });
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

test('a call that fails says whether it may have been applied', async () => {
  const settings = { projectId: 'no-answer', ...server.settings, callTimeoutMs: 3_000 };
  await using store = createFirestoreJobStore(settings);
  await using patient = processOf('no-answer');
  const { writers } = await createStaffedJob(patient, { numTasks: 1 });
  const send = () => store.setState(at(writers, 0).write('ingest', 1));
  server.gate.setFaults({ commitsLeft: 0 });
  await expect(send()).rejects.toMatchObject({ code: 'unavailable', outcome: 'unknown' });
  server.gate.setFaults({ isRefusing: true });
  await expect(send()).rejects.toMatchObject({ code: 'timeout', outcome: 'not-applied' });
  server.gate.setFaults({});
  expect(await send()).toMatchObject({ applied: true });
});

test('a creation whose reply was lost may have been applied, even if the next attempt commits nothing', async () => {
  const settings = { projectId: 'lost-creation', ...server.settings, callTimeoutMs: 3_000 };
  await using store = createFirestoreJobStore(settings);
  const { gate } = server;
  const untilCalled = () => expect.poll(() => gate.delayedCount, { interval: 5 }).toBe(1);
  gate.setFaults({ losesCommitReplies: true, delayMs: Number.POSITIVE_INFINITY });
  const commitsBefore = gate.committedCount;
  const creation = store.createJob({ jobId: 'nightly', numTasks: 1 });
  const refusal = expect(creation).rejects.toMatchObject({ code: 'timeout', outcome: 'unknown' });
  while (gate.committedCount === commitsBefore) {
    await untilCalled();
    gate.letGo();
    await new Promise(setImmediate);
  }
  await untilCalled(); // the client repeats the commit, and learns that its transaction is over
  gate.letGo();
  await untilCalled(); // the next attempt
  gate.setFaults({ isRefusing: true });
  gate.letGo();
  await refusal;
  gate.setFaults({});
});

test('writers of different keys of one job never overtake each other', async () => {
  const stores = Array.from({ length: PROCESSES }, () => processOf('many-keys'));
  const { writers } = await createStaffedJob(at(stores, 0), { numTasks: PROCESSES });
  const writeAll = (status: number) =>
    Promise.all(
      stores.flatMap((store, task) =>
        ['a', 'b', 'c'].map((tag) => store.setState(at(writers, task).write(tag, status))),
      ),
    );
  await writeAll(1); // each process learns the tags
  const { abortedCount } = server.gate;
  const results = [...(await writeAll(2)), ...(await writeAll(3))];
  expect(results.every(({ applied }) => applied)).toBe(true);
  expect(server.gate.abortedCount).toBe(abortedCount);
  await Promise.all(stores.map((store) => store.close()));
});

test('a process that starts later writes the keys of a tag side by side', async () => {
  await using first = processOf('started-later');
  const { writers } = await createStaffedJob(first, { numTasks: 4 });
  await Promise.all(writers.map((writer) => writer.set('ingest', 1)));
  await using store = processOf('started-later');
  await store.setState(at(writers, 0).write('ingest', 2)); // now it knows the tag
  server.gate.setFaults({ delayMs: Number.POSITIVE_INFINITY });
  const writes = writers.map((writer) => store.setState(writer.write('ingest', 3)));
  // All four at once. Calls of the client's own, such as a rollback, may be held beside them.
  await expect.poll(() => server.gate.delayedCount, { interval: 5 }).toBeGreaterThanOrEqual(4);
  server.gate.setFaults({});
  server.gate.letGo();
  const results = await Promise.all(writes);
  expect(results.every(({ applied }) => applied)).toBe(true);
});

test('J1 writers of one key in several processes overtake each other, and no version is lost', async () => {
  const stores = Array.from({ length: PROCESSES }, () => processOf('one-key'));
  const job = await createJob(at(stores, 0), { numTasks: 1 });
  const { lease } = await TaskWriter.claim(at(stores, 0), job);
  const write = { jobId: 'job', incarnation: job.incarnation, taskId: 0, epoch: lease.epoch };
  const content = { tag: 'ingest', status: 1, message: '', schemaVersion: 1 };
  const results = await Promise.all(
    stores.map((store, index) => store.setState({ ...write, ...content, eventId: `e${index}` })),
  );
  const versions = results.map((result) => result.applied && result.state.version);
  expect(new Set(versions)).toEqual(new Set(stores.map((_, index) => index + 1)));
  await Promise.all(stores.map((store) => store.close()));
});

test('J5 J7 commits in the same microsecond are all delivered in order, also after a resume', async () => {
  const clock = createSystemClock();
  await using store = processOf('same-time');
  await using other = processOf('same-time');
  const { writers } = await createStaffedJob(other, { numTasks: 8 });
  await using reader = new StreamReader({ store, clock });
  await reader.untilKind('synced');
  server.gate.setFaults({ commitSpanMs: 60_000 });
  const states = await Promise.all(writers.map((writer) => writer.set('ingest', 1)));
  server.gate.setFaults({});
  expect(new Set(states.map(({ revision }) => revision)).size).toBeLessThan(8);
  const last = await at(writers, 0).set('ingest', 2);
  await reader.untilRevision(last.revision);
  const changes = reader.seen.flatMap((event) => (event.kind === 'change' ? [event] : []));
  const revisions = changes.map(({ state }) => state.revision);
  expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
  expect(new Set(changes.map(({ state }) => state.taskId)).size).toBe(8);
  const { cursor: after } = at(changes, 2);
  await using resumed = new StreamReader({ store, clock }, { after });
  const rest = (await resumed.untilKind('live')).flatMap((event) =>
    event.kind === 'change' ? [event.state.taskId] : [],
  );
  const seen = changes.slice(0, 3).map(({ state }) => state.taskId);
  expect(new Set([...seen, ...rest]).size).toBe(8);
});

test('states are counted only where there could be too many', async () => {
  await using store = processOf('large');
  const job = await createJob(store, { numTasks: 100_000 });
  const writer = await TaskWriter.claim(store, job);
  for (let index = 0; index < 12; index += 1) await writer.set(`tag ${index}`, 1);
  expect((await store.aggregate('job', { taskId: 0 })).cells.total).toBe(12);
});

const openLate = (options: FirestoreJobStoreOptions) =>
  createFirestoreJobStore({ ...server.settings, ...options });

test('J1 a write that timed out before its commit is not committed later, over a newer one', async () => {
  await using other = processOf('late');
  const { writers } = await createStaffedJob(other, { numTasks: 1 });
  const writer = at(writers, 0);
  const store = openLate({ projectId: 'late', callTimeoutMs: 1_000 });
  server.gate.setFaults({ delayMs: Number.POSITIVE_INFINITY });
  const late = store.setState(writer.write('ingest', 1));
  await expect(late).rejects.toMatchObject({ code: 'timeout', outcome: 'not-applied' });
  server.gate.setFaults({});
  expect(await writer.set('ingest', 2)).toMatchObject({ version: 1 });
  server.gate.letGo();
  await store.close(); // waits for writes in flight
  expect(await other.getState('job', 0, 'ingest')).toMatchObject({ status: 2, version: 1 });
});

test('the signal of a list ends it while Firestore does not answer', async () => {
  await using store = processOf('aborted-list');
  await createJob(store);
  server.gate.setFaults({ delayMs: Number.POSITIVE_INFINITY });
  const stop = new AbortController();
  const listed = store.listJobs({}, { signal: stop.signal });
  await expect.poll(() => server.gate.delayedCount).toBeGreaterThan(0);
  stop.abort();
  await expect(listed).rejects.toMatchObject({ code: 'aborted', outcome: 'not-applied' });
  server.gate.setFaults({});
  server.gate.letGo();
});

test('J21 closing does not wait for reads that get no answer', async () => {
  const clock = createSystemClock();
  const timeouts = { pollMs: 10, reachTimeoutMs: 30_000, callTimeoutMs: 30_000 };
  const store = openLate({ projectId: 'closing', ...timeouts });
  await createStaffedJob(store, { numTasks: 1 });
  await using reader = new StreamReader({ store, clock });
  await reader.untilKind('synced');
  server.gate.setFaults({ delayMs: Number.POSITIVE_INFINITY });
  await expect.poll(() => server.gate.delayedCount).toBeGreaterThan(0);
  const read = store.listJobs({});
  read.catch(() => {});
  const before = clock.monotonicMs();
  await store.close();
  expect(clock.monotonicMs() - before).toBeLessThan(15_000);
  await expect(read).rejects.toMatchObject({ code: 'closed', outcome: 'not-applied' });
  server.gate.setFaults({});
  server.gate.letGo();
});
