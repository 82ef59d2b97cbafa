// Clients that request a lot and read nothing, against the real server: unsent bytes are limited for each
// connection and in total, and a well-behaved client is served in the meantime.
//
// JOBS_FIGURES=1 prints memory and latencies. The bound on latencies (JOBS_P99_MS) is generous by default, since the
// machine may be busy; alone on the machine p99 is below 50 ms.
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, connect } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { create, toBinary } from '@bufbuild/protobuf';
import type { JobStore } from '@syncline/jobs';
import { createRemoteJobStore, SERVICE } from '@syncline/jobs/grpc';
import { JobService } from '@syncline/protocol/jobs';
import type { Cluster, ClusterNode } from '@syncline/testkit';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { startCluster } from './cluster.js';
import { tell } from './jobs-figures.js';
import { encodeSubscribe } from './jobs-raw-client.js';
import { JobsTask } from './jobs-task.js';

const P99_MS = Number(process.env['JOBS_P99_MS'] ?? 10_000);
const GROWTH_MEBIBYTES_MAX = 300;
const JOBS = 250;
const WAIT = { timeout: 60_000, interval: 50 };

/** 63 KB of JSON that takes 13 times as much as parsed objects. */
const ARRAYS = { lists: Array.from({ length: 21_000 }, () => []) };
const TEXT = { text: 'x'.repeat(64_000) };

let cluster: Cluster;
let node: ClusterNode;
let good: JobStore;
let mine: JobsTask;
let idle: number;
const sessions: ClientHttp2Session[] = [];
const sockets: Socket[] = [];

beforeAll(async () => {
  cluster = await startCluster({ nodes: 1 });
  node = cluster.node(1);
  good = createRemoteJobStore({ address: node.url('grpc') });
  mine = await JobsTask.claim(good, { jobId: 'good' });
  const expectedTags = Array.from({ length: 256 }, (_, index) => `tag-${index}-${'t'.repeat(100)}`);
  for (let index = 0; index < JOBS; index += 1)
    await good.createJob({ jobId: `listed-${index}`, numTasks: 1, expectedTags });
  await beGood(100);
  idle = residentMebibytes();
}, 120_000);
afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy();
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(async () => {
  await good.close();
  await cluster[Symbol.asyncDispose]();
});

function residentMebibytes(): number {
  const facts = readFileSync(`/proc/${node.pid}/status`, 'utf8');
  return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(facts)?.[1]) / 1_024);
}

/** Repeats a write and a read; returns the latencies. */
async function beGood(times: number): Promise<number[]> {
  const latencies: number[] = [];
  for (let count = 0; count < times; count += 1) {
    const startMs = performance.now();
    const { revision } = await mine.set('a', count + 1);
    expect((await good.aggregate('good', { taskId: 0, tag: 'a' })).revision).toBe(revision);
    latencies.push(performance.now() - startMs);
  }
  return latencies.sort((a, b) => a - b);
}

/** Watches memory and a good client while `attack` runs and for a while after it. */
async function meanwhile(what: string, attack: () => Promise<unknown>): Promise<void> {
  let peak = 0;
  const look = setInterval(() => {
    peak = Math.max(peak, residentMebibytes());
  }, 20);
  const attacking = attack();
  const latencies = await beGood(100);
  await attacking;
  latencies.push(...(await beGood(50)));
  clearInterval(look);
  latencies.sort((a, b) => a - b);
  const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? 0;
  tell(`${what}: ${peak - idle} MiB over idle (${idle} MiB), p99 ${p99.toFixed(1)} ms`);
  expect(peak - idle, `${what}: MiB over idle`).toBeLessThan(GROWTH_MEBIBYTES_MAX);
  expect(p99, `${what}: p99 in ms`).toBeLessThan(P99_MS);
}

function newSession(): ClientHttp2Session {
  const session = connect(`http://${node.url('grpc')}`);
  session.on('error', () => undefined);
  sessions.push(session);
  return session;
}

/** A call whose answer is never read. Resolves when the server has answered, or ended it. */
function unreadCall(
  session: ClientHttp2Session,
  method: string,
  request: Uint8Array,
): Promise<void> {
  const stream = session.request({
    ':method': 'POST',
    ':path': `/${SERVICE}/${method}`,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', () => undefined);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(request.length, 1);
  stream.write(Buffer.concat([head, request]));
  if (method !== 'SetStates') stream.end();
  return new Promise((resolve) => {
    stream.once('response', () => resolve());
    stream.once('close', () => resolve());
  });
}

/** Many small writes that all fail their condition: each reply contains the current state. */
function missingWrites({ job, lease }: JobsTask, count: number): Uint8Array {
  const { jobId, incarnation } = job;
  return toBinary(
    JobService.method.setStates.input,
    create(JobService.method.setStates.input, {
      writes: Array.from({ length: count }, (_, index) => ({
        number: BigInt(index + 1),
        write: {
          jobId,
          incarnation,
          epoch: lease.epoch,
          tag: 'a',
          status: 1,
          eventId: `${index}`,
          ifVersion: 9n,
        },
      })),
    }),
  );
}

test.each([
  ['one text', TEXT, 20],
  ['many small lists', ARRAYS, 20],
])(
  '4,096 conditional writes that fail on a large state of %s, on 20 streams that never read',
  async (name, payload, streams) => {
    const task = await JobsTask.claim(good, { jobId: `large-${name.length}`, numTasks: 1 });
    await task.set('a', 1, { payload });
    const request = missingWrites(task, 4_096);
    await meanwhile(`writes with answers of ${name}`, async () => {
      const calls = Array.from({ length: streams }, (_, index) =>
        unreadCall(
          index % 2 === 0 ? newSession() : (sessions.at(-1) ?? newSession()),
          'SetStates',
          request,
        ),
      );
      await Promise.all(calls);
    });
  },
  120_000,
);

test('lists of jobs over HTTP, 60 of them unread', async () => {
  const { host, port } = node.address('http');
  await meanwhile('unread lists over HTTP', async () => {
    for (let index = 0; index < 60; index += 1) {
      const socket = connectTcp({ host, port }, () => {
        socket.write(`GET /api/jobs?limit=1000 HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
        socket.pause();
      });
      socket.on('error', () => undefined);
      sockets.push(socket);
    }
  });
}, 120_000);

test('lists of jobs over gRPC, 60 unread calls on one connection', async () => {
  const session = newSession();
  const { input } = JobService.method.listJobs;
  const request = toBinary(input, create(input, { limit: 1_000 }));
  await meanwhile('unread lists over gRPC', async () => {
    for (let index = 0; index < 60; index += 1) void unreadCall(session, 'ListJobs', request);
  });
}, 120_000);

test('20 unread subscriptions with the largest buffers, of 20 jobs', async () => {
  const tasks = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      JobsTask.claim(good, { jobId: `followed-${index}`, numTasks: 1 }),
    ),
  );
  await meanwhile('unread subscriptions with buffers of 16 MiB', async () => {
    await Promise.all(
      tasks.map(({ job }) => {
        const more = { bufferEvents: 65_536, bufferBytes: 16 * 1024 * 1024 };
        return unreadCall(newSession(), 'Subscribe', encodeSubscribe(job.jobId, more));
      }),
    );
    for (let round = 0; round < 22; round += 1)
      for (const task of tasks)
        await task.set('a', round + 1, { payload: ARRAYS, durability: 'buffered' });
  });
}, 240_000);

test('a client that reads no replies is disconnected after a minute; a subscriber is not', async () => {
  const asking = newSession();
  const following = newSession();
  const { input } = JobService.method.listJobs;
  await unreadCall(following, 'Subscribe', encodeSubscribe('good'));
  const startMs = performance.now();
  void unreadCall(asking, 'ListJobs', toBinary(input, create(input, { limit: 1_000 })));
  await vi.waitFor(() => expect(asking.destroyed).toBe(true), { timeout: 120_000, interval: 100 });
  expect(performance.now() - startMs).toBeGreaterThan(59_000);
  expect(following.destroyed).toBe(false);
  await vi.waitFor(async () => {
    const metrics = await (await fetch(`${node.url('http')}/metrics`)).text();
    expect(metrics).toMatch(/connections_cut_total\{listener="grpc",reason="stalled"\} 1/);
  }, WAIT);
}, 240_000);
