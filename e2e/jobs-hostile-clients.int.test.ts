// Hostile, broken and slow clients of the jobs, many at a time, against the real server. Each costs bounded memory,
// the server waits for none of them, and a well-behaved client is still served.
//
// JOBS_HOSTILE_STREAMS (400) is how many subscribe and never read. JOBS_FIGURES=1 prints memory and latencies. Bounds
// are generous, since the machine may be busy: a server that waits for a hostile client misses them by far.
import { readFileSync } from 'node:fs';
import { connect as connectTcp, type Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import type { JobStore } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { SynclineError } from '@syncline/kernel';
import type { Cluster, ClusterNode } from '@syncline/testkit';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startCluster } from './cluster.js';
import { tell } from './jobs-figures.js';
import { askHttp } from './jobs-raw-client.js';
import { JobsTask } from './jobs-task.js';
import { UnreadStreams } from './jobs-unread-streams.js';

const STREAMS = Number(process.env['JOBS_HOSTILE_STREAMS'] ?? 400);
const SUBSCRIBERS_PER_JOB_MAX = 2_048;
const CONNECTIONS = 1_000;
/** The number of each kind, all at once. More would measure the one process that sends them all. */
const FLOOD = 300;
const ABANDONED = 100;
const READERS = 20;
/** Far above what a quiet machine needs: it only detects clients that are kept waiting by the attack. */
const MAX_MS = 20_000;
const WAIT = { timeout: 60_000, interval: 20 };
const MESSAGE = 'x'.repeat(4_000);
const TAGS = Array.from({ length: 24 }, (_, index) => `tag-${index}`);
/** Rounds of writes: more than the buffer of a subscriber holds. */
const ROUNDS = 14;
const MEBIBYTE = 2 ** 20;
/** Its buffer, and a frame in flight: what J17 allows a subscriber that does not read. */
const STALLED_BYTES_MAX = 1.25 * MEBIBYTE;
/** Memory that any working server uses beyond an idle one. */
const WARM_MEBIBYTES = 200;

let cluster: Cluster;
let node: ClusterNode;
let good: JobStore;
let task: JobsTask;
let statusCount = 0;

/** A job whose replay is larger than what a connection buffers. */
beforeAll(async () => {
  cluster = await startCluster({ nodes: 1 });
  node = cluster.node(1);
  good = createRemoteJobStore({ address: node.url('grpc') });
  task = await JobsTask.claim(good, { jobId: 'large' });
  await writeAll(1);
  await measure('at the start');
});
afterAll(async () => {
  await good.close();
  await cluster[Symbol.asyncDispose]();
});

/** Writes each tag this often, all of it in flight at once. */
async function writeAll(times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    statusCount += 1;
    const more = { message: MESSAGE, durability: 'buffered' } as const;
    await Promise.all(TAGS.map((tag) => task.set(tag, statusCount, more)));
  }
}

function residentMebibytes(): number {
  const facts = readFileSync(`/proc/${node.pid}/status`, 'utf8');
  return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(facts)?.[1]) / 1_024);
}

/** What a well-behaved client experiences: writes, reads, and receiving its own changes. */
async function measure(beside: string): Promise<{ readonly resident: number }> {
  const mine = await JobsTask.claim(good, { jobId: 'good' });
  const latencies: number[] = [];
  const scope = { taskId: 0, tag: 'a' };
  const events = good.subscribe('good', { scope })[Symbol.asyncIterator]();
  while ((await events.next()).value?.kind !== 'synced');
  for (let count = 0; count < 50; count += 1) {
    const startMs = performance.now();
    const { revision } = await mine.set('a', count + 1);
    for (let heard = 0; heard < revision; ) {
      const { value } = await events.next();
      if (value?.kind === 'change') heard = value.state.revision;
    }
    expect((await good.aggregate('good', scope)).revision).toBe(revision);
    latencies.push(performance.now() - startMs);
  }
  await events.return?.();
  latencies.sort((a, b) => a - b);
  const [median, most] = [latencies[25] ?? 0, latencies.at(-1) ?? 0];
  const resident = residentMebibytes();
  tell(`${beside}: p50 ${median.toFixed(1)} ms, max ${most.toFixed(0)} ms, ${resident} MiB`);
  expect(most, beside).toBeLessThan(MAX_MS);
  return { resident };
}

async function metricOf(line: string): Promise<number> {
  const metrics = await (await fetch(`${node.url('http')}/metrics`)).text();
  const found = metrics.split('\n').find((each) => each.startsWith(`${line} `));
  return Number(found?.slice(line.length) ?? 0);
}

const dropsCount = () => metricOf('syncline_jobs_subscription_drops_total{reason="coalesce"}');
const whenSubscribers = (count: number) =>
  vi.waitFor(async () => expect(await metricOf('syncline_jobs_subscribers')).toBe(count), WAIT);

test(`J17 ${STREAMS} subscriptions that never read: each costs at most its buffer and a frame, and writers are not delayed`, async () => {
  const before = residentMebibytes();
  using streams = new UnreadStreams(node.url('grpc'));
  await streams.open(STREAMS, 'large');
  expect(streams.refusals).toEqual([]);
  await whenSubscribers(STREAMS);
  await writeAll(ROUNDS);
  const { resident } = await measure(`${STREAMS} that subscribe and never read`);
  const growth = resident - before;
  tell(
    `${STREAMS} stalled: ${growth} MiB more, ${((growth * 1_024) / STREAMS).toFixed(0)} KiB each`,
  );
  expect(growth).toBeLessThan((STREAMS * STALLED_BYTES_MAX) / MEBIBYTE + WARM_MEBIBYTES);
  // A subscriber that reads after all gets everything it has missed.
  const received = streams.read(0);
  const all = (ROUNDS + 1) * TAGS.length * MESSAGE.length;
  await vi.waitFor(() => expect(received()).toBeGreaterThan(all), WAIT);
  streams[Symbol.dispose]();
  await whenSubscribers(0);
});

test('J20 a subscriber too many is refused, over gRPC and over HTTP, and a place that is given up is free again', async () => {
  await good.createJob({ jobId: 'crowded', numTasks: 1 });
  using streams = new UnreadStreams(node.url('grpc'));
  await streams.open(SUBSCRIBERS_PER_JOB_MAX + 5, 'crowded');
  await vi.waitFor(() => expect(streams.refusals).toHaveLength(5), WAIT);
  expect(new Set(streams.refusals)).toEqual(new Set([status.RESOURCE_EXHAUSTED]));
  const url = `${node.url('http')}/api/jobs/crowded/events`;
  expect(await askHttp(url)).toMatchObject({
    status: 429,
    code: 'limit-exceeded',
    details: { limit: 'subscribersPerJobMax' },
  });
  await measure(`${SUBSCRIBERS_PER_JOB_MAX} subscribers of another job`);
  streams.abandon(0);
  const stop = new AbortController();
  await vi.waitFor(async () => {
    const { status: answer } = await fetch(url, { signal: stop.signal });
    expect(answer).toBe(200);
  }, WAIT);
  stop.abort();
});

test('replays that are abandoned in the middle leave nothing behind', async () => {
  const before = residentMebibytes();
  for (let round = 0; round < 5; round += 1) {
    using streams = new UnreadStreams(node.url('grpc'));
    await streams.open(ABANDONED, 'large');
    for (let index = 0; index < ABANDONED; index += 2) streams.abandon(index); // the others with their connection
  }
  await whenSubscribers(0);
  const { resident } = await measure(`${5 * ABANDONED} abandoned replays`);
  expect(resident - before).toBeLessThan(WARM_MEBIBYTES);
});

test('J17 readers of server-sent events that stop reading do not delay anyone', async () => {
  const before = residentMebibytes();
  const { host, port } = node.address('http');
  const sockets = await Promise.all(
    Array.from({ length: READERS }, () => openEvents({ host, port })),
  );
  await whenSubscribers(READERS);
  // The system also holds memory for each connection, and how much differs.
  await vi.waitFor(async () => {
    await writeAll(4);
    expect(await dropsCount()).toBeGreaterThanOrEqual(READERS);
  }, WAIT);
  const { resident } = await measure(`${READERS} stalled readers of server-sent events`);
  expect(resident - before).toBeLessThan((READERS * STALLED_BYTES_MAX) / MEBIBYTE + WARM_MEBIBYTES);
  // A reader that resumes after all has missed versions, is notified of the gap, and ends with the last state of each
  // key.
  const [first] = sockets;
  let text = '';
  first?.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  first?.resume();
  await vi.waitFor(() => {
    expect(text).toContain('"reason":"overflow"');
    for (const tag of TAGS) expect(text).toContain(`"tag":"${tag}","status":${statusCount}`);
  }, WAIT);
  for (const socket of sockets) socket.destroy();
  await whenSubscribers(0);
});

/** A reader that reads nothing once it is connected. */
function openEvents(address: { readonly host: string; readonly port: number }): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectTcp(address, () => {
      socket.write(`GET /api/jobs/large/events HTTP/1.1\r\nHost: ${address.host}\r\n\r\n`);
      socket.pause();
      resolve(socket);
    });
    socket.once('error', reject);
  });
}

test('connections that send half a request, or nothing', async () => {
  const { host, port } = node.address('grpc');
  const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
  const sockets = Array.from({ length: CONNECTIONS }, (_, index) => {
    const socket = connectTcp({ host, port }, () => {
      if (index % 3 > 0) socket.write(preface.slice(0, index % 3 === 1 ? 10 : preface.length));
    });
    return socket.on('error', () => undefined);
  });
  await vi.waitFor(() => {
    for (const socket of sockets) expect(socket.connecting).toBe(false);
  }, WAIT);
  await measure(`${CONNECTIONS} connections that send little`);
  for (const socket of sockets) socket.destroy();
});

test('floods of jobs, of claims and of large writes', async () => {
  const codes = new Map<string, number>();
  const count = async (call: Promise<unknown>) => {
    const code = await call.then(
      () => 'ok',
      (thrown: unknown) => SynclineError.from(thrown).code,
    );
    codes.set(code, (codes.get(code) ?? 0) + 1);
  };
  const many = <T>(make: (index: number) => Promise<T>) =>
    Array.from({ length: FLOOD }, (_, index) => count(make(index)));
  await using store = createRemoteJobStore({ address: node.url('grpc') });
  const payload = { rows: 'x'.repeat(60_000) };
  const flooding = [
    ...many((index) => store.createJob({ jobId: `flood-${index}`, numTasks: 1 })),
    ...many(() => JobsTask.claim(store, { jobId: 'claimed' })),
    ...many((index) =>
      task.set(TAGS[index % TAGS.length] ?? '', 1, { payload, durability: 'buffered' }),
    ),
  ];
  await measure(`${3 * FLOOD} calls at once`);
  await Promise.all(flooding);
  tell(`floods: ${JSON.stringify(Object.fromEntries(codes))}`);
  // What does not fit into the queue is refused with a retryable error.
  for (const code of codes.keys()) expect(['ok', 'overloaded']).toContain(code);
  const claimed = await JobsTask.claim(good, { jobId: 'claimed' });
  expect(claimed.lease.epoch).toBeLessThanOrEqual(FLOOD + 1);
  expect((await fetch(`${node.url('http')}/readyz`)).status).toBe(200);
});
