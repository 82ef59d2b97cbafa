// Calls and connections of the remote store: what is sent, what is left behind, and authentication.
import { setMaxListeners } from 'node:events';
import { createJobManager, createMemoryJobStore, type JobStore } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { SynclineError } from '@syncline/kernel';
import { type FaultProxy, makeCertificates, startFaultProxy } from '@syncline/testkit';
import { afterEach, expect, test } from 'vitest';
import { Secret } from '../../config/secret.js';
import type { ServerCredentials } from '../../config/server-config.js';
import {
  JobWriter,
  type RemoteJobs,
  replaceableCalls,
  startRemoteJobs,
} from '../../testing/remote-jobs.js';
import { until } from '../../testing/until.js';

const jobId = 'nightly';
let remote: RemoteJobs<FaultProxy>;

async function start(
  behind: JobStore = createMemoryJobStore(),
  credentials: Partial<ServerCredentials> = {},
): Promise<JobStore> {
  remote = await startRemoteJobs(behind, startFaultProxy, { credentials });
  return behind;
}

afterEach(() => remote[Symbol.asyncDispose]());

async function errorOf(promise: Promise<unknown>): Promise<SynclineError> {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof SynclineError)) throw new Error(`no SynclineError: ${String(thrown)}`);
  return thrown;
}

test('one connection carries calls, one more every 90 subscriptions; the last to leave closes it', async () => {
  await start();
  await remote.store.createJob({ jobId, numTasks: 1 });
  const stop = new AbortController();
  setMaxListeners(0, stop.signal); // all 91 share it
  let syncedCount = 0;
  const follow = async () => {
    for await (const { kind } of remote.store.subscribe(jobId, { scope: {}, signal: stop.signal }))
      if (kind === 'synced') syncedCount += 1;
  };
  const first = Array.from({ length: 90 }, follow);
  await until(() => syncedCount === 90, '90 subscriptions');
  expect(remote.proxy.connectionCount).toBe(2);
  const further = follow();
  await until(() => syncedCount === 91, 'one more');
  expect(remote.proxy.connectionCount).toBe(3);
  stop.abort();
  await Promise.all([...first, further]);
  await until(() => remote.proxy.connectionCount === 1, 'only the calls are left');
});

test('J21 closing ends subscriptions and waiting calls, and leaves no connection', async () => {
  const behind = await start(stuckStore());
  await behind.createJob({ jobId, numTasks: 1 });
  const stream = remote.store.subscribe(jobId, { scope: {} })[Symbol.asyncIterator]();
  expect(await stream.next()).toMatchObject({ value: { kind: 'synced' } });
  const waiting = stream.next();
  const call = errorOf(remote.store.getJob(jobId));
  await until(() => remote.proxy.connectionCount === 2, 'both connections');
  await remote.store.close();
  expect(await waiting).toEqual({ done: true, value: undefined });
  expect(await call).toMatchObject({ code: 'closed' });
  expect(await errorOf(remote.store.getJob(jobId))).toMatchObject({ code: 'closed' });
  const late = remote.store.subscribe(jobId, { scope: {} })[Symbol.asyncIterator]();
  expect(await errorOf(late.next())).toMatchObject({ code: 'closed' });
  await until(() => remote.proxy.connectionCount === 0, 'no connection');
});

/** Never answers getJob. */
function stuckStore(): JobStore {
  const store = createMemoryJobStore();
  store.getJob = () => new Promise(() => {});
  return store;
}

test('an aborted call: unknown once it was sent, not applied before', async () => {
  const behind = createMemoryJobStore();
  const writer = await JobWriter.create(behind, jobId, 1);
  replaceableCalls(behind).setEncoded = () => new Promise(() => {});
  await start(behind);
  const stop = new AbortController();
  const call = errorOf(remote.store.setState(writer.write(0, 'a'), { signal: stop.signal }));
  await until(() => remote.proxy.passedBytes('to-target') > 200, 'the request');
  stop.abort();
  expect(await call).toMatchObject({ code: 'aborted', outcome: 'unknown' });
  const unsent = errorOf(remote.store.setState(writer.write(0, 'a'), { signal: stop.signal }));
  expect(await unsent).toMatchObject({ code: 'aborted', outcome: 'not-applied' });
});

test('J10 too slow: the error has the cursor of the last event that was delivered, not the last that was sent', async () => {
  const behind = createMemoryJobStore();
  const writer = await JobWriter.create(behind, jobId, 1);
  await start(behind);
  const options = { scope: {}, overflow: 'fail', buffer: { maxEvents: 16 } } as const;
  const subscription = remote.store.subscribe(jobId, options);
  const events = subscription[Symbol.asyncIterator]();
  expect(await events.next()).toMatchObject({ value: { kind: 'synced' } });
  // Frames buffered in the client, one per write, and then more at once than the buffer holds.
  for (let count = 0; count < 40; count += 1) {
    await writer.set(0, 'a');
    await new Promise((resolve) => setTimeout(resolve, 8));
  }
  for (let turn = 0; turn < 3; turn += 1)
    await Promise.all(Array.from({ length: 100 }, () => writer.set(0, 'a')));
  await new Promise((resolve) => setTimeout(resolve, 200));
  let last: unknown;
  const thrown = await errorOf(
    (async () => {
      for (let next = await events.next(); next.done !== true; next = await events.next())
        if ('cursor' in next.value) last = next.value.cursor;
    })(),
  );
  expect(thrown).toMatchObject({ code: 'overflow', details: { cursor: last } });
  expect(subscription.cursor).toBe(last);
});

test('J1 marking a job returns it as it was marked, whatever came after', async () => {
  const behind = createMemoryJobStore();
  await JobWriter.create(behind, jobId, 1);
  await start(behind);
  const mark = behind.markJobDeleted.bind(behind);
  behind.markJobDeleted = async (...given) => {
    const marked = await mark(...given);
    const { incarnation } = marked;
    const release = { jobId, incarnation, taskId: 0, epoch: 1, ttlMs: 0, holder: '' } as const;
    await behind.lease({ ...release, action: 'release' });
    return marked;
  };
  const getJob = behind.getJob.bind(behind);
  behind.getJob = () => Promise.reject(new SynclineError('overloaded', 'not asked'));
  const marked = await remote.store.markJobDeleted(jobId);
  const now = await getJob(jobId);
  expect(marked.deletedAtMs).toBeDefined();
  expect(now?.revision).toBe(marked.revision + 1);
});

test('no listener: unavailable and not applied, with the address', async () => {
  await start();
  await remote.proxy.refuseConnections();
  const error = await errorOf(remote.store.createJob({ jobId, numTasks: 1 }));
  expect(error).toMatchObject({ code: 'unavailable', outcome: 'not-applied', retryable: true });
  expect(error.message).toContain(`cannot reach the job service at ${remote.address}`);
});

test('a connection that breaks under a write: unavailable, outcome unknown', async () => {
  const behind = createMemoryJobStore();
  const writer = await JobWriter.create(behind, jobId, 1);
  let arrived = false;
  replaceableCalls(behind).setEncoded = () => {
    arrived = true;
    return new Promise(() => {});
  };
  await start(behind);
  const call = errorOf(remote.store.setState(writer.write(0, 'a')));
  await until(() => arrived, 'the write');
  remote.proxy.resetConnections();
  expect(await call).toMatchObject({ code: 'unavailable', outcome: 'unknown' });
});

test('a server with TLS and a token accepts a client that has both', async () => {
  await using certificates = await makeCertificates();
  const { server: own, ca } = certificates;
  await start(createMemoryJobStore(), {
    tls: { cert: own.cert, key: own.key, ca: undefined },
    token: new Secret('right'),
  });
  const { address } = remote;
  const tls = { ca: ca.cert };
  await using right = createRemoteJobStore({ address, tls, token: 'right' });
  await using wrong = createRemoteJobStore({ address, tls, token: 'wrong' });
  await using plain = createRemoteJobStore({ address, token: 'right' });
  expect(await right.getJob(jobId)).toBeUndefined();
  expect(await errorOf(wrong.getJob(jobId))).toMatchObject({ code: 'unauthenticated' });
  expect(await errorOf(plain.getJob(jobId))).toMatchObject({ code: 'unavailable' });
  const stream = wrong.subscribe(jobId, { scope: {} })[Symbol.asyncIterator]();
  expect(await errorOf(stream.next())).toMatchObject({ code: 'unauthenticated' });
});

test('a certificate that is not trusted fails calls, streams and managers at once', async () => {
  await using certificates = await makeCertificates();
  const { server: own, ca, untrusted } = certificates;
  const tls = { cert: own.cert, key: own.key, ca: undefined };
  await start(createMemoryJobStore(), { tls });
  const { address } = remote;
  await using foreign = createRemoteJobStore({ address, tls: { ca: untrusted.cert } });
  await using renamed = createRemoteJobStore({
    address,
    tls: { ca: ca.cert, serverName: 'other' },
  });
  const expected = {
    code: 'unauthenticated',
    retryable: false,
    details: { reason: 'certificate' },
  };
  const target = { jobId, taskIndex: 0, numTasks: 1 };
  for (const [store, advice] of [
    [foreign, 'Set tls.ca to the CA that signed it.'],
    [renamed, 'set tls.serverName'],
  ] as const) {
    for (const attempt of [
      () => store.getJob(jobId),
      () => store.subscribe(jobId, { scope: {} })[Symbol.asyncIterator]().next(),
      () => createJobManager({ ...target, store }),
    ]) {
      const error = await errorOf(attempt());
      expect(error).toMatchObject(expected);
      expect(error.message).toContain(`cannot reach the job service at ${address}`);
      expect(error.message).toContain(advice);
    }
  }
});
