// Subscriptions of the remote store when the connection to the server breaks: real sockets behind a proxy that cuts
// them.
import {
  type Cursor,
  createMemoryJobStore,
  type JobEvent,
  type JobStore,
  type JobSubscription,
} from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import type { SynclineError } from '@syncline/kernel';
import { type FaultProxy, startFaultProxy } from '@syncline/testkit';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Lateness } from '../../testing/lateness.js';
import { JobWriter, type RemoteJobs, startRemoteJobs } from '../../testing/remote-jobs.js';
import { until } from '../../testing/until.js';

const jobId = 'nightly';
let behind: JobStore;
let remote: RemoteJobs<FaultProxy>;
let writer: JobWriter;

beforeEach(async () => {
  behind = createMemoryJobStore();
  remote = await startRemoteJobs(behind, startFaultProxy);
  writer = await JobWriter.create(behind, jobId, 4);
});

afterEach(() => remote[Symbol.asyncDispose]());

/** Reads until this is true of the last event. */
async function readUntil(
  subscription: JobSubscription,
  isLast: (event: JobEvent) => boolean,
  onEvent: (event: JobEvent) => void = () => undefined,
): Promise<readonly JobEvent[]> {
  const events: JobEvent[] = [];
  for await (const event of subscription) {
    events.push(event);
    onEvent(event);
    if (isLast(event)) break;
  }
  return events;
}

const isRevision = (revision: number) => (event: JobEvent) =>
  event.kind === 'change' && event.state.revision === revision;

const isSynced = ({ kind }: JobEvent) => kind === 'synced';

const changes = (events: readonly JobEvent[]) =>
  events.filter(({ kind }) => kind !== 'stale' && kind !== 'live');

async function fill(statesCount: number): Promise<void> {
  for (let index = 0; index < statesCount; index += 1)
    await writer.set(index % 4, `tag-${Math.floor(index / 4)}`, { message: 'x'.repeat(2_000) });
}

test('J9 a replay that is interrupted again and again continues where it was', async () => {
  await fill(800);
  const uncut = await readUntil(
    behind.subscribe(jobId, { scope: {} }),
    ({ kind }) => kind === 'synced',
  );
  remote.proxy.set({ resetAfterBytes: 400_000 }, 'to-client');
  const stream = remote.store.subscribe(jobId, { scope: {} });
  const events = await readUntil(stream, ({ kind }) => kind === 'live');
  expect(events.filter(({ kind }) => kind === 'stale').length).toBeGreaterThan(1);
  expect(changes(events)).toEqual(uncut);
});

test('J9 what was written in the meantime is delivered once, between stale and live', async () => {
  const stream = remote.store.subscribe(jobId, { scope: {}, include: ['lease', 'job'] });
  let last = Number.POSITIVE_INFINITY;
  const events = await readUntil(
    stream,
    (event) => event.kind === 'live' && event.revision >= last,
    (event) => {
      if (event.kind === 'synced') void remote.proxy.refuseConnections().then(cut);
      if (event.kind === 'stale' && event.attempt === 1) void writeMeanwhile();
    },
  );
  function cut(): void {
    remote.proxy.resetConnections();
  }
  async function writeMeanwhile(): Promise<void> {
    await writer.set(0, 'a');
    await behind.updateJob(jobId, { labels: { kind: 'test' } });
    ({ revision: last } = await writer.set(1, 'b'));
    await remote.proxy.acceptConnections();
  }
  const kinds = events.map(({ kind }) => kind);
  const lost = kinds.indexOf('stale');
  expect(kinds.slice(lost).filter((kind) => kind !== 'stale')).toEqual([
    'change',
    'job',
    'change',
    'live',
  ]);
  expect(kinds.filter((kind) => kind === 'synced')).toHaveLength(1);
});

test('a job that is deleted and created again during an outage: reset, and a new replay', async () => {
  await writer.set(0, 'a');
  const stream = remote.store.subscribe(jobId, { scope: {} });
  const events = await readUntil(
    stream,
    (event) => event.kind === 'snapshot' && event.state.tag === 'z',
    (event) => {
      if (event.kind === 'synced') void replace();
    },
  );
  async function replace(): Promise<void> {
    await remote.proxy.refuseConnections();
    remote.proxy.resetConnections();
    await behind.deleteJob(jobId);
    await (await JobWriter.create(behind, jobId, 2)).set(1, 'z');
    await remote.proxy.acceptConnections();
  }
  const afterLoss = changes(events).slice(2);
  expect(afterLoss).toMatchObject([{ kind: 'gap', reason: 'reset' }, { kind: 'snapshot' }]);
});

test('a job that is deleted during an outage: the stream reports it and ends', async () => {
  const { revision } = await writer.set(0, 'a');
  const stream = remote.store.subscribe(jobId, { scope: {} });
  const events = await readUntil(
    stream,
    () => false,
    (event) => {
      if (event.kind === 'synced') void remove();
    },
  );
  async function remove(): Promise<void> {
    await remote.proxy.refuseConnections();
    remote.proxy.resetConnections();
    await behind.deleteJob(jobId);
    await remote.proxy.acceptConnections();
  }
  const gap = { kind: 'gap', reason: 'deleted', fromRevision: revision, toRevision: revision };
  expect(events.at(-1)).toEqual(gap);
});

test('a resume whose first connection failed receives live after the changes', async () => {
  await writer.set(0, 'a');
  const seen = await readUntil(remote.store.subscribe(jobId, { scope: {} }), isSynced);
  const synced = seen.at(-1);
  if (synced?.kind !== 'synced') throw new Error('synced');
  const { revision } = await writer.set(1, 'a');
  await remote.proxy.refuseConnections();
  remote.proxy.resetConnections();
  const events = await readUntil(
    remote.store.subscribe(jobId, { scope: {}, after: synced.cursor }),
    ({ kind }) => kind === 'live',
    (event) => {
      if (event.kind === 'stale' && event.attempt === 1) void remote.proxy.acceptConnections();
    },
  );
  const kinds = events.map(({ kind }) => kind).filter((kind) => kind !== 'stale');
  expect(kinds).toEqual(['synced', 'change', 'live']);
  expect(events.at(-1)).toMatchObject({ revision });
});

test('no server: five attempts, then unavailable with the cursor', async () => {
  const reconnect = { initialMs: 2, maxMs: 8 };
  await using store = createRemoteJobStore({ address: remote.address, reconnect });
  await writer.set(0, 'a');
  const stream = store.subscribe(jobId, { scope: {} });
  const attempts: number[] = [];
  let cursor: Cursor | undefined;
  const reading = readUntil(
    stream,
    () => false,
    (event) => {
      if (event.kind === 'stale') attempts.push(event.attempt);
      if (event.kind !== 'synced') return;
      ({ cursor } = event);
      void remote.proxy.refuseConnections().then(() => remote.proxy.resetConnections());
    },
  );
  const error: SynclineError = await reading.then(
    () => expect.unreachable(),
    (thrown) => thrown,
  );
  expect(error).toMatchObject({ code: 'unavailable', details: { cursor } });
  expect(attempts).toEqual([1, 2, 3, 4, 5]);
});

test('J21 an abort during a wait ends the loop without an error', async () => {
  await remote.proxy.refuseConnections();
  const stop = new AbortController();
  const stream = remote.store.subscribe(jobId, { scope: {}, signal: stop.signal });
  const events = await readUntil(
    stream,
    () => false,
    () => stop.abort(),
  );
  expect(events.map(({ kind }) => kind)).toEqual(['stale']);
});

test('a stopping server ends its streams at once, and readers are notified that it is gone', async () => {
  const stream = remote.store.subscribe(jobId, { scope: {} });
  const seen: JobEvent[] = [];
  const reading = readUntil(
    stream,
    () => false,
    (event) => seen.push(event),
  );
  await until(() => seen.length > 0, 'the replay');
  const { revision } = await writer.set(0, 'a');
  await until(() => seen.some(isRevision(revision)), 'the change');
  using lateness = new Lateness();
  const startMs = performance.now();
  await remote.server.stop();
  expect(performance.now() - startMs - lateness.ms).toBeLessThan(5_000); // it waits longer for requests
  await until(() => seen.some(({ kind }) => kind === 'stale'), 'stale');
  await remote.store.close();
  expect((await reading).at(-1)?.kind).toBe('stale');
});
