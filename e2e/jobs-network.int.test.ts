// A manager whose server's answers are lost, or whose server is unreachable or stops: a bad network between
// real processes.
import { createJobManager, type JobEvent, type JobManager, type JobStore } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { formatAddress, SynclineError } from '@syncline/kernel';
import { type Cluster, type FaultProxy, startFaultProxy } from '@syncline/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { startCluster } from './cluster.js';
import { tell } from './jobs-figures.js';
import { JobsTask } from './jobs-task.js';

const WAIT = { timeout: 60_000, interval: 5 };
const jobId = 'nightly';
const tag = 'ingest';

let cluster: Cluster;
let direct: JobStore;
let proxy: FaultProxy;
let store: JobStore;
let manager: JobManager;

/** Long enough for a busy machine; a test of what happens at the end of it opens another manager. */
const TIMEOUT_MS = 60_000;

beforeAll(async () => {
  cluster = await startCluster({ nodes: 1 });
  direct = createRemoteJobStore({ address: cluster.node(1).url('grpc') });
});
afterAll(async () => {
  await direct.close();
  await cluster[Symbol.asyncDispose]();
});
beforeEach(async () => {
  proxy = await startFaultProxy({ target: cluster.node(1).address('grpc') });
  const address = formatAddress(proxy.address);
  store = createRemoteJobStore({ address, reconnect: { initialMs: 20, maxMs: 100 } });
  manager = await openManager(TIMEOUT_MS);
});
afterEach(async () => {
  await store.close();
  await manager.close();
  await proxy[Symbol.asyncDispose]();
  await direct.deleteJob(jobId);
});

function openManager(timeoutMs: number): Promise<JobManager> {
  const target = { store, jobId, taskIndex: 0, numTasks: 2 };
  const retry = { initialMs: 20, maxMs: 100 };
  return createJobManager(target, { lease: false, timeoutMs, retry });
}

async function errorOf(promise: Promise<unknown>): Promise<SynclineError> {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof SynclineError)) throw new Error(`no SynclineError: ${String(thrown)}`);
  return thrown;
}

const stored = () => direct.getState(jobId, 0, tag);
const whenStored = (version: number) =>
  vi.waitFor(async () => expect((await stored())?.version).toBe(version), WAIT);

test('J2 a lost reply: the write is resent with its event id, giving one version and one event', async () => {
  const events: JobEvent[] = [];
  const stop = new AbortController();
  const following = (async () => {
    for await (const event of direct.subscribe(jobId, { scope: {}, signal: stop.signal }))
      events.push(event);
  })();
  await vi.waitFor(() => expect(events.at(-1)?.kind).toBe('synced'), WAIT);
  proxy.set({ blackhole: true }, 'to-client');
  const writing = manager.setState({ tag, status: 7 });
  await whenStored(1);
  proxy.heal(); // the connection is reset: it is unknown whether the write arrived
  const result = await writing;
  expect(result).toMatchObject({
    applied: true,
    duplicate: true,
    state: { version: 1, status: 7 },
  });
  expect(result.state).toEqual(await stored());
  await manager.setState({ tag, status: 8 });
  await vi.waitFor(() => expect(events.at(-1)).toMatchObject({ state: { status: 8 } }), WAIT);
  const versions = events.flatMap((event) => ('state' in event ? [event.state.version] : []));
  expect(versions).toEqual([1, 2]);
  stop.abort();
  await following;
});

test('J2 an unreachable server: the write is retried until the timeout, then `unavailable` and not applied', async () => {
  await using impatient = await openManager(5_000); // time for several attempts on a busy machine
  await proxy.refuseConnections();
  proxy.resetConnections();
  await vi.waitFor(() => expect(proxy.connectionCount).toBe(0), WAIT);
  const error = await errorOf(impatient.setState({ tag, status: 7 }));
  expect(error).toMatchObject({ code: 'unavailable', outcome: 'not-applied', retryable: true });
  expect(error.message).toMatch(
    /^🔴 setState of tag "ingest" .* failed after \d+ attempts: .*[^.]\. It was not applied\.$/,
  );
  await proxy.acceptConnections();
  const again = { tag, status: 8, eventId: 'once, however often it is sent' };
  await vi.waitFor(() => impatient.setState(again), WAIT);
  expect(await stored()).toMatchObject({ version: 1, status: 8 });
});

test('J2 no answer: `timeout` in time, outcome unknown; the same event id reveals what happened', async () => {
  const timeoutMs = 3_000; // the write must have been sent by then
  await using impatient = await openManager(timeoutMs);
  proxy.set({ blackhole: true }, 'to-client');
  const startMs = performance.now();
  const error = await errorOf(impatient.setState({ tag, status: 7 }));
  const waitedMs = performance.now() - startMs;
  expect(error).toMatchObject({ code: 'timeout', outcome: 'unknown', retryable: true });
  expect(error.message).toMatch(/^🔴 /);
  expect(waitedMs).toBeGreaterThan(timeoutMs - 100);
  expect(waitedMs).toBeLessThan(timeoutMs + 15_000);
  await whenStored(1);
  proxy.heal();
  const { eventId } = error.details as { readonly eventId: string };
  const again = await impatient.setState({ tag, status: 7, eventId });
  expect(again).toMatchObject({ duplicate: true, state: { version: 1 } });
});

test('J3 on SIGTERM under load writes that have arrived are answered, and what was answered is stored', async () => {
  const node = cluster.node(1);
  const task = await JobsTask.claim(direct, { jobId, taskId: 1 });
  const answered: number[] = [];
  const failures: SynclineError[] = [];
  const tags = Array.from({ length: 50 }, (_, index) => `tag-${index}`);
  const follower = direct.subscribe(jobId, { scope: { taskId: 1 } })[Symbol.asyncIterator]();
  await follower.next();
  const writing = tags.map(async (each, index) => {
    for (let status = 1; failures.length === 0; status += 1) {
      try {
        answered[index] = (await task.set(each, status)).version;
      } catch (thrown) {
        failures.push(SynclineError.from(thrown));
      }
    }
  });
  await vi.waitFor(
    () => expect(Math.min(...tags.map((_, i) => answered[i] ?? 0))).toBeGreaterThan(1),
    WAIT,
  );
  await node.stop();
  await Promise.all(writing);
  tell(
    `SIGTERM: ${answered.reduce((sum, each) => sum + each, 0)} writes answered, ${failures.length} refused`,
  );
  for (const error of failures)
    expect(error).toMatchObject({ code: 'unavailable', outcome: 'not-applied' });
  await node.start();
  await vi.waitFor(() => direct.getJob(jobId), WAIT);
  const { states } = await direct.listStates(
    jobId,
    { taskId: 1 },
    { afterRevision: 0, limit: 1_000 },
  );
  const versions = new Map(states.map((state) => [state.tag, state.version]));
  for (const [index, each] of tags.entries()) expect(versions.get(each)).toBe(answered[index]);
  await follower.return?.();
});
