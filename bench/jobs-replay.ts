// Jobs: a job of 100,000 states, replayed over gRPC, queried for its state, and recovered by a restarted server;
// compared with the same states in a stream and a hash of Redis.
import { createJobReader, type JobReader } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import type { AnyBench, Contestant } from './bench.js';
import { connectRedis, redisVersion } from './fair-redis-peer.js';
import { CELLS, inParallel } from './jobs-cells.js';
import { startJobsServer, startSyncedRedis } from './jobs-servers.js';
import { openRedisWriter, openRemoteWriter, streamName } from './jobs-writers.js';
import { defineBench, quantile } from './measure.js';

const JOB_ID = 'replay';
const CONNECTIONS = 8;
const FILL_AT_ONCE = 200;
const READS = 300;
const RANGE_ENTRIES = 1_000;

interface FilledServer {
  /** Reads all states. Returns the time to the first one, and to all of them. */
  readAll(): Promise<{ readonly firstMs: number; readonly allMs: number }>;
  /** Stops it, restarts it, and returns the time until it has answered a query about the job. */
  restartMs(): Promise<number>;
}

interface FilledJobsServer extends FilledServer {
  readonly reader: JobReader;
}

const ours: Contestant<FilledJobsServer> = {
  name: 'syncline serve',
  async open() {
    const server = await startJobsServer();
    const { address, node } = server;
    const writer = await openRemoteWriter(address, { jobId: JOB_ID, connections: CONNECTIONS });
    await inParallel({ count: CELLS, atOnce: FILL_AT_ONCE }, (index) => writer.write(index));
    await writer[Symbol.asyncDispose]();
    const store = createRemoteJobStore({ address });
    return {
      reader: await createJobReader({ store, jobId: JOB_ID }),
      readAll: () => replay(address),
      async restartMs() {
        await node.stop();
        const startMs = performance.now();
        await node.start();
        const fresh = createRemoteJobStore({ address });
        await fresh.aggregate(JOB_ID, {});
        const tookMs = performance.now() - startMs;
        await fresh.close();
        return tookMs;
      },
      async [Symbol.asyncDispose]() {
        await store.close();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};

/** As a process that has just started: it must open a connection first. */
async function replay(address: string) {
  await using store = createRemoteJobStore({ address });
  const startMs = performance.now();
  let firstMs: number | undefined;
  let statesCount = 0;
  for await (const events of store.subscribe(JOB_ID, { scope: {} }).batches()) {
    firstMs ??= performance.now() - startMs;
    for (const event of events) {
      if (event.kind === 'snapshot') statesCount += 1;
      if (event.kind !== 'synced') continue;
      if (statesCount !== CELLS) throw new Error(`${statesCount} of ${CELLS} states arrived`);
      return { firstMs, allMs: performance.now() - startMs };
    }
  }
  throw new Error('the replay has no end');
}

const redis: Contestant<FilledServer> = {
  name: 'Redis Streams',
  ...(redisVersion !== undefined && { version: redisVersion }),
  async open() {
    const server = await startSyncedRedis();
    const { port } = server;
    const writer = await openRedisWriter(port, { jobId: JOB_ID, connections: CONNECTIONS });
    await inParallel({ count: CELLS, atOnce: FILL_AT_ONCE }, (index) => writer.write(index));
    await writer[Symbol.asyncDispose]();
    return {
      readAll: () => readStream(port),
      async restartMs() {
        await server.kill();
        const startMs = performance.now();
        await server.start();
        const [client] = await connectRedis(port, 1);
        await client?.hlen(JOB_ID);
        const tookMs = performance.now() - startMs;
        client?.disconnect();
        return tookMs;
      },
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
};

/** Page by page, each state parsed, as a replay delivers them. */
async function readStream(port: number) {
  const startMs = performance.now();
  const [client] = await connectRedis(port, 1);
  if (client === undefined) throw new Error('there is no connection');
  let firstMs: number | undefined;
  let statesCount = 0;
  try {
    for (let after = '-'; ; ) {
      const page = await client.xrange(streamName(JOB_ID), after, '+', 'COUNT', RANGE_ENTRIES);
      firstMs ??= performance.now() - startMs;
      for (const [id, [, text = '']] of page) {
        JSON.parse(text);
        statesCount += 1;
        after = `(${id}`;
      }
      if (page.length < RANGE_ENTRIES) break;
    }
  } finally {
    client.disconnect();
  }
  // A stream is trimmed in whole nodes, so it may hold slightly more than requested.
  if (statesCount < CELLS) throw new Error(`${statesCount} of ${CELLS} states arrived`);
  return { firstMs, allMs: performance.now() - startMs };
}

const common = { unit: 'ms', better: 'less', isLong: true } as const;

function readBench(name: string, about: string, read: (reader: JobReader) => Promise<unknown>) {
  return (['p50', 'p99'] as const).map((part) =>
    defineBench<FilledJobsServer>({
      ...common,
      name: `${name}-${part}`,
      about: `${about} over ${CELLS} cells, over gRPC, ${part === 'p50' ? 50 : 99}th percentile of ${READS}`,
      contestants: [ours],
      bound: { name: 'at most', value: 2 },
      async run({ reader }) {
        const times: number[] = [];
        for (let turn = 0; turn < READS; turn += 1) {
          const startMs = performance.now();
          await read(reader);
          times.push(performance.now() - startMs);
        }
        return quantile(times, part === 'p50' ? 0.5 : 0.99);
      },
    }),
  );
}

export const jobsReplayBenches: readonly AnyBench[] = [
  defineBench<FilledServer>({
    ...common,
    name: 'jobs-replay-first',
    about: `from subscribe to the first of ${CELLS} states over gRPC, with the connection`,
    contestants: [ours, redis],
    bound: { name: 'at most', value: 100 },
    run: async (server) => (await server.readAll()).firstMs,
  }),
  defineBench<FilledServer>({
    ...common,
    name: 'jobs-replay-synced',
    about: `from subscribe to synced, after ${CELLS} states over gRPC; Redis with XRANGE`,
    contestants: [ours, redis],
    bound: { name: 'at most', value: 1_500 },
    run: async (server) => (await server.readAll()).allMs,
  }),
  defineBench<FilledServer>({
    ...common,
    name: 'jobs-start',
    about: `time from starting the program with ${CELLS} states until getProgress returns`,
    contestants: [ours, redis],
    bound: { name: 'at most', value: 2_000 },
    run: (server) => server.restartMs(),
  }),
  ...readBench('jobs-get-state', 'getState', (reader) => reader.getState()),
  ...readBench('jobs-get-progress', 'getProgress', (reader) => reader.getProgress()),
];
