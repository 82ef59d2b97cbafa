// Following a job in Firestore: how listening begins and ends, and what subscribers see while the connection is cut,
// silent or refused.
import { Firestore } from '@google-cloud/firestore';
import { type Clock, createSystemClock, type Metrics } from '@syncline/kernel';
import { startFirestore, type TestFirestore } from '@syncline/testkit/firestore';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { at, createJob, createStaffedJob } from '../conformance/job-samples.js';
import { StreamReader } from '../conformance/stream-reader.js';
import type { JobsMetricName } from '../metrics-list.js';
import { createFirestoreJobStore, type FirestoreJobStoreOptions } from './firestore-job-store.js';

let server: TestFirestore;
beforeEach(async () => {
  server = await startFirestore();
});
afterEach(() => server[Symbol.asyncDispose]());

/** Its waits end only when they are let go. */
class HeldClock implements Clock {
  readonly #clock = createSystemClock();
  readonly nowMs = () => this.#clock.nowMs();
  readonly monotonicMs = () => this.#clock.monotonicMs();
  readonly setTimer: Clock['setTimer'] = (...given) => this.#clock.setTimer(...given);
  readonly defer: Clock['defer'] = (...given) => this.#clock.defer(...given);
  isHeld = false;

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    do await this.#clock.sleep(ms, signal);
    while (this.isHeld);
  }
}

class Counters implements Metrics<JobsMetricName> {
  readonly counts = new Map<JobsMetricName, number>();

  add(name: JobsMetricName, amount = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + amount);
  }

  set(): void {}
  observe(): void {}
}

const quick = { pollMs: 40, reachTimeoutMs: 400, reconnect: { initialMs: 10, maxMs: 40 } };

function open(
  options: Partial<FirestoreJobStoreOptions> = {},
  deps: { readonly metrics?: Counters; readonly clock?: Clock } = {},
) {
  const settings = { projectId: 'test', ...server.settings, ...quick, ...options };
  return createFirestoreJobStore(settings, deps);
}

const clock = createSystemClock();
const kindsOf = (events: readonly { readonly kind: string }[]) => events.map(({ kind }) => kind);

test('a pure writer listens to nothing; reads of aggregates do, and stop when there are no readers', async () => {
  const metrics = new Counters();
  await using store = open({ listenIdleMs: 500 }, { metrics });
  const { writers } = await createStaffedJob(store);
  await at(writers, 0).set('ingest', 1);
  await store.getState('job', 0, 'ingest');
  expect(server.gate.streamsCount).toBe(0);
  expect(server.gate.sentCount).toBe(0);
  await Promise.all([store.aggregate('job', {}), store.aggregate('job', { tag: 'ingest' })]);
  expect(server.gate.streamsCount).toBe(1);
  expect(await store.getState('job', 0, 'ingest')).toMatchObject({ status: 1 });
  expect(metrics.counts.get('syncline_jobs_cache_hits_total')).toBe(1);
  expect(metrics.counts.get('syncline_jobs_cache_misses_total')).toBe(3);
  await expect.poll(() => server.gate.streamsCount).toBe(0);
});

test('J8 reads see this process’s own writes at once, also while another process writes', async () => {
  await using store = open();
  await using other = open();
  const { writers } = await createStaffedJob(store, { numTasks: 2 });
  await store.aggregate('job', {});
  for (let status = 1; status <= 5; status += 1) {
    const foreign = other.setState(at(writers, 1).write('b', status));
    const state = await at(writers, 0).set('a', status);
    expect(await store.getState('job', 0, 'a')).toEqual(state);
    const progress = await store.aggregate('job', { taskId: 0 });
    expect(progress.lowest).toEqual(state);
    expect(progress.revision).toBeGreaterThanOrEqual(state.revision);
    await foreign;
  }
});

test('J8 an aggregate waits until the listener has received this process’s own writes', async () => {
  await using store = open({ pollMs: 60_000 });
  const { writers } = await createStaffedJob(store, { numTasks: 2 });
  await store.aggregate('job', {});
  server.gate.setFaults({ isMute: true }); // the listener brings nothing
  const first = await at(writers, 0).set('a', 1);
  expect(await store.getState('job', 0, 'a')).toEqual(first); // past the listener
  const progress = store.aggregate('job', {});
  const state = store.getState('job', 0, 'a');
  expect(await Promise.race([progress, state])).toEqual(first);
  server.gate.setFaults({});
  expect(await progress).toMatchObject({ revision: first.revision });
});

test('J7 a broken stream is reopened silently, and changes made in the meantime are delivered', async () => {
  const metrics = new Counters();
  await using store = open({}, { metrics });
  await using writer = open();
  const { writers } = await createStaffedJob(writer);
  await using reader = new StreamReader({ store, clock });
  await reader.untilKind('synced');
  server.gate.setFaults({ isMute: true });
  for (let status = 1; status <= 5; status += 1) await at(writers, 0).set('ingest', status);
  server.gate.cutStreams();
  server.gate.setFaults({});
  const { revision } = await at(writers, 0).set('ingest', 6);
  await reader.untilRevision(revision);
  await at(writers, 0).set('ingest', 7);
  const last = await at(writers, 0).set('ingest', 8);
  await reader.untilRevision(last.revision);
  expect(metrics.counts.get('syncline_jobs_version_drift_total') ?? 0).toBeLessThan(8);
});

test('J7 polling detects a silently lost connection: stale, the missed changes, then live', async () => {
  const metrics = new Counters();
  await using store = open({}, { metrics });
  await using writer = open();
  const { writers } = await createStaffedJob(writer);
  await at(writers, 0).set('ingest', 1);
  await using reader = new StreamReader({ store, clock });
  await reader.untilKind('synced');
  server.gate.setFaults({ isMute: true });
  await at(writers, 0).set('ingest', 2);
  const { revision } = await at(writers, 0).set('ingest', 4);
  const [stale] = (await reader.untilKind('stale')).slice(-1);
  expect(stale).toMatchObject({ attempt: 1 });
  server.gate.setFaults({});
  const events = await reader.untilKind('live');
  expect(kindsOf(events.filter(({ kind }) => kind !== 'stale'))).toEqual(['change', 'live']);
  expect(events.at(-1)).toMatchObject({ revision });
  expect(metrics.counts.get('syncline_jobs_listener_reconnects_total')).toBeGreaterThan(0);
  expect(metrics.counts.get('syncline_jobs_version_drift_total')).toBe(1);
});

test('J9 after the last attempt subscriptions fail with their cursor, which resumes', async () => {
  await using store = open({ reachTimeoutMs: 300 });
  const { writers } = await createStaffedJob(store);
  await at(writers, 0).set('ingest', 1);
  await using reader = new StreamReader({ store, clock });
  await reader.untilKind('synced');
  server.gate.setFaults({ isRefusing: true });
  const failure = reader.until(() => false);
  await expect(failure).rejects.toMatchObject({
    code: 'unavailable',
    details: { cursor: reader.cursor },
  });
  const stale = reader.seen.filter((event) => event.kind === 'stale');
  expect(stale.map((event) => event.kind === 'stale' && event.attempt)).toEqual([1, 2, 3, 4, 5]);
  server.gate.setFaults({});
  await using healthy = open();
  const after = reader.cursor;
  await using resumed = new StreamReader({ store: healthy, clock }, after ? { after } : {});
  expect(await resumed.untilKind('synced')).toMatchObject([{ resumed: true }]);
});

test('J9 a job that was deleted and created again while the connection was lost: reset, new snapshot', async () => {
  const held = new HeldClock();
  await using store = open({}, { clock: held });
  await using other = open();
  const { writers } = await createStaffedJob(other);
  await at(writers, 0).set('old', 1);
  await using reader = new StreamReader({ store, clock });
  await reader.untilKind('synced');
  server.gate.setFaults({ isMute: true });
  await at(writers, 0).set('old', 2);
  await reader.untilKind('stale');
  held.isHeld = true;
  await other.deleteJob('job');
  const again = await createStaffedJob(other);
  await at(again.writers, 0).set('new', 1);
  server.gate.setFaults({});
  held.isHeld = false;
  const events = await reader.untilKind('synced');
  const received = events.filter(({ kind }) => kind !== 'stale');
  expect(received).toMatchObject([
    { kind: 'gap', reason: 'reset' },
    { kind: 'snapshot', state: { tag: 'new', version: 1 } },
    { kind: 'synced', resumed: false },
  ]);
  expect(reader.cursor?.startsWith(again.job.incarnation)).toBe(true);
  await at(again.writers, 0).set('new', 2);
  await reader.untilKind('change');
});

async function waitMs(ms: number): Promise<void> {
  const sinceMs = clock.monotonicMs();
  await expect.poll(() => clock.monotonicMs() - sinceMs).toBeGreaterThan(ms);
}

test('the first snapshot may take longer than a live listener may lag', async () => {
  await using writer = open();
  const { writers } = await createStaffedJob(writer, { numTasks: 1 });
  await using store = open({ reachTimeoutMs: 250, reconnect: { attempts: 1, initialMs: 1 } });
  server.gate.setFaults({ isMute: true });
  const progress = store.aggregate('job', {});
  progress.catch(() => {});
  await expect.poll(() => server.gate.streamsCount).toBe(1);
  await waitMs(600);
  server.gate.setFaults({});
  await at(writers, 0).set('ingest', 1);
  expect(await progress).toMatchObject({ lostTasks: 0 });
});

test('an unreadable document ends listening at once, is not quoted, and hides no other job', async () => {
  await using store = open();
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  await at(writers, 0).set('ingest', 1, { payload: { a: 1 } });
  const firestore = new Firestore({ projectId: 'test', ...server.settings });
  await firestore.doc('jobs/job/states/0-ingest').update({ payload: '{"secret' });
  await firestore.terminate();
  const failure = await store.aggregate('job', {}).catch((thrown: unknown) => thrown);
  expect(failure).toMatchObject({ code: 'corrupt', details: { field: 'payload' } });
  expect(String(failure)).not.toContain('secret');
  await createJob(store, { jobId: 'whole' });
  const listed = await store.listJobs({});
  expect(listed).toMatchObject({ jobs: [{ job: { jobId: 'whole' } }], damaged: ['job'] });
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
  await expect.poll(() => server.gate.streamsCount, { timeout: 60_000 }).toBe(0);
  expect(clock.monotonicMs() - endedAtMs).toBeGreaterThan(listenIdleMs / 2);
});
