// Tasks that die, return as zombies, or are paused, and a clock that steps: real processes against the real server.
import { fileURLToPath } from 'node:url';
import type { JobEvent, JobStore } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { type ChildProgram, type Cluster, startChild } from '@syncline/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startCluster } from './cluster.js';
import { tell } from './jobs-figures.js';
import { JobsTask } from './jobs-task.js';

const TTL_MS = 1_000;
/** How late `lost` may be: the rule, plus what a busy machine adds to it. */
const LATE_MS = 1_000;
const BUSY_MS = 15_000;
const HOUR_MS = 3_600_000;
const numTasks = 2;

let cluster: Cluster;
let store: JobStore;

beforeAll(async () => {
  const clock = fileURLToPath(new URL('jobs-clock.mjs', import.meta.url));
  const steps = [HOUR_MS, -HOUR_MS].join(',');
  const env = { NODE_OPTIONS: `--import=${clock}`, JOBS_CLOCK_STEPS: steps };
  cluster = await startCluster({ nodes: 1, env });
  store = createRemoteJobStore({ address: cluster.node(1).url('grpc') });
});
afterAll(async () => {
  await store.close();
  await cluster[Symbol.asyncDispose]();
});

/** Task 0 of a job, as a process that has started its work. */
async function startTask(jobId: string): Promise<ChildProgram> {
  const address = cluster.node(1).url('grpc');
  const options = { address, jobId, taskIndex: 0, numTasks, ttlMs: TTL_MS };
  const child = startChild('job-task', JSON.stringify(options));
  await child.lineThatStarts('{"claimed"');
  return child;
}

async function write(child: ChildProgram, tag: string): Promise<unknown> {
  child.send(tag);
  return JSON.parse((await child.nextLine()) ?? '{}');
}

type LeaseEvent = Extract<JobEvent, { kind: 'lease' }>;

/** What happens to the leases of a job from now on. */
async function* leasesOf(jobId: string): AsyncGenerator<LeaseEvent['lease']> {
  const scope = { taskId: 0 };
  for await (const event of store.subscribe(jobId, { scope, include: ['lease'] }))
    if (event.kind === 'lease') yield event.lease;
}

async function until(leases: AsyncGenerator<LeaseEvent['lease']>, state: string) {
  for (;;) {
    const { value, done } = await leases.next();
    if (done) throw new Error('the stream has ended');
    if (value.state === state) return value;
  }
}

test('J18 a killed task is lost within its ttl plus a second, and nothing it wrote is', async () => {
  await using child = await startTask('killed');
  expect(await write(child, 'ingest')).toEqual({ version: 1 });
  const leases = leasesOf('killed');
  expect(await until(leases, 'held')).toMatchObject({ epoch: 1, ttlMs: TTL_MS });
  await child.kill();
  const killedMs = performance.now();
  expect(await until(leases, 'lost')).toMatchObject({ taskId: 0, epoch: 1 });
  const lostMs = performance.now() - killedMs;
  tell(`a killed task with a ttl of ${TTL_MS} ms was lost after ${lostMs.toFixed(0)} ms`);
  expect(lostMs).toBeLessThan(TTL_MS + LATE_MS + BUSY_MS);
  const { lostTasks, cells } = await store.aggregate('killed', {});
  expect({ lostTasks, running: cells.running }).toEqual({ lostTasks: 1, running: 1 });
  await leases.return(undefined);
});

test('J13 a zombie is fenced: what it writes after its successor has claimed is not applied', async () => {
  await using zombie = await startTask('zombie');
  expect(await write(zombie, 'ingest')).toEqual({ version: 1 });
  const leases = leasesOf('zombie');
  process.kill(zombie.pid, 'SIGSTOP');
  await until(leases, 'lost');
  await using successor = await startTask('zombie');
  expect(await write(successor, 'ingest')).toEqual({ version: 2 });
  zombie.send('ingest'); // it finds out when it wakes up
  process.kill(zombie.pid, 'SIGCONT');
  expect(JSON.parse((await zombie.nextLine()) ?? '{}')).toEqual({ code: 'fenced' });
  expect(await write(zombie, 'other')).toEqual({ code: 'fenced' });
  expect(await write(successor, 'ingest')).toEqual({ version: 3 });
  expect(await store.getState('zombie', 0, 'other')).toBeUndefined();
  await leases.return(undefined);
});

test('J18 a lost task that was only paused holds its lease again', async () => {
  await using sleeper = await startTask('sleeper');
  expect(await write(sleeper, 'ingest')).toEqual({ version: 1 });
  const leases = leasesOf('sleeper');
  process.kill(sleeper.pid, 'SIGSTOP');
  const { epoch } = await until(leases, 'lost');
  process.kill(sleeper.pid, 'SIGCONT');
  expect(await until(leases, 'held')).toMatchObject({ epoch });
  expect(await write(sleeper, 'ingest')).toEqual({ version: 2 });
  expect((await store.aggregate('sleeper', {})).lostTasks).toBe(0);
  await leases.return(undefined);
});

test('J18 J19 a clock step does not make any task lost, and timestamps never decrease', async () => {
  const task = await JobsTask.claim(store, { jobId: 'clock', ttlMs: 60_000 });
  const step = async (isThere: (ms: number) => boolean) => {
    cluster.node(1).signal('SIGUSR2');
    await expect.poll(async () => isThere(await serverNowMs())).toBe(true);
  };
  const first = await task.set('ingest', 1);
  await step((ms) => ms > first.timestampMs + HOUR_MS / 2);
  const ahead = await task.set('ingest', 2);
  expect(ahead.timestampMs - first.timestampMs).toBeGreaterThanOrEqual(HOUR_MS);
  await step((ms) => ms < first.timestampMs);
  const back = await task.set('ingest', 3);
  expect(back.timestampMs).toBe(ahead.timestampMs);
  expect((await task.act('renew')).state).toBe('held');
  expect((await store.aggregate('clock', {})).lostTasks).toBe(0);
});

/** By the server's wall clock: the creation time of a new job. */
async function serverNowMs(): Promise<number> {
  const { job } = await store.createJob({ jobId: 'now', numTasks: 1 });
  await store.deleteJob('now');
  return job.createdAtMs;
}

test('J18 after an outage of the server every lease starts over', async () => {
  const task = await JobsTask.claim(store, { jobId: 'downtime', ttlMs: TTL_MS });
  await task.set('ingest', 1);
  const node = cluster.node(1);
  await node.kill();
  await new Promise((resolve) => setTimeout(resolve, TTL_MS * 1.5)); // longer than the lease
  const startedAtMs = Date.now();
  await node.start();
  await using again = createRemoteJobStore({ address: node.url('grpc') });
  const lostTasks = async () => (await again.aggregate('downtime', {})).lostTasks;
  await expect.poll(lostTasks, { timeout: TTL_MS + LATE_MS + BUSY_MS }).toBe(1);
  const lostAtMs = (await again.getJob('downtime'))?.changedAtMs ?? 0;
  tell(
    `a lease of ${TTL_MS} ms was lost ${lostAtMs - startedAtMs} ms after its server was started`,
  );
  expect(lostAtMs - startedAtMs).toBeGreaterThanOrEqual(TTL_MS);
});
