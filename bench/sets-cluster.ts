// Sets on three nodes compared with a redis-server with two replicas: how fast one node writes, and how soon another
// shows it.
import { type Cluster, startCluster, startRedis } from '@syncline/testkit';
import type { AnyBench, Contestant } from './bench.js';
import { redisVersion } from './fair-redis-peer.js';
import { defineBench } from './measure.js';
import { RANDOM_MEMBER, runBenchmark } from './sets-benchmark.js';
import { startPacedWriter } from './sets-paced-writer.js';
import { withClient } from './sets-servers.js';

const LAG_SAMPLES = 500;
/** Writes before the first sample: until the code of a new process is compiled, a write takes about twice as long. */
const WARM_UP_WRITES = 3_000;
/** Commands used to measure the highest write rate. */
const TOP_RATE_COMMANDS = 300_000;

interface Replicated {
  readonly writer: number;
  readonly reader: number;
  /** Commands per second, once measured. */
  topRate?: number;
}

const syncline: Contestant<Replicated> = {
  name: 'syncline serve, 3 nodes',
  async open() {
    const cluster = await startCluster({ nodes: 3, isMeshed: true, readyTimeoutMs: 60_000 });
    return { ...portsOf(cluster), [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
  },
};

const redis: Contestant<Replicated> = {
  name: 'redis-server, 2 replicas',
  ...(redisVersion !== undefined && { version: redisVersion }),
  async open() {
    const durable = ['--appendonly', 'yes', '--appendfsync', 'everysec'];
    const master = await startRedis(...durable);
    const follow = ['--replicaof', '127.0.0.1', String(master.port)];
    const replicas = await Promise.all([1, 2].map(() => startRedis(...durable, ...follow)));
    const reader = replicas[0]?.port ?? 0;
    await withClient(master.port, async (client) => {
      await client.sadd('ready', 'yes');
      await client.wait(2, 10_000);
    });
    return {
      writer: master.port,
      reader,
      async [Symbol.asyncDispose]() {
        for (const server of [...replicas, master]) await server[Symbol.asyncDispose]();
      },
    };
  },
};

function portsOf(cluster: Cluster): Replicated {
  return {
    writer: cluster.node(1).address('resp').port,
    reader: cluster.node(2).address('resp').port,
  };
}

function rateBench(name: string, pipeline: number, count: number): AnyBench {
  return defineBench<Replicated>({
    name,
    unit: 'commands/s',
    about: `SADD of random members on one of three nodes; 50 connections, ${pipeline} in a pipeline, ${count} commands`,
    contestants: [syncline, redis],
    isLong: true,
    async run({ writer }, round) {
      await writeAll(writer, `set:${round}`, pipeline, count);
      return count;
    },
  });
}

async function writeAll(port: number, set: string, pipeline: number, count: number): Promise<void> {
  await runBenchmark({ port, count, pipeline, words: ['sadd', set, RANDOM_MEMBER] });
  await withClient(port, (client) => client.wait(2, 60_000)); // a write that has not arrived yet counts, too
}

/** From the moment a write is sent until another node shows it. */
function lagBench(name: string, percentile: number, load: 'idle' | 'loaded'): AnyBench {
  const under =
    load === 'idle'
      ? 'nothing else is written'
      : 'another process writes at half the highest rate, in pipelines of 16';
  return defineBench<Replicated>({
    name,
    better: 'less',
    unit: 'ms',
    about: `p${percentile} of the time until a peer shows a write, while ${under}`,
    contestants: [syncline, redis],
    isLong: true,
    prepare: async (subject) => {
      const { writer, reader } = subject;
      await measureLags(writer, reader, 'warm-up', WARM_UP_WRITES);
      if (load === 'idle') return;
      await writeAll(writer, 'warm-up', 16, TOP_RATE_COMMANDS);
      const startMs = performance.now();
      await writeAll(writer, 'top-rate', 16, TOP_RATE_COMMANDS);
      subject.topRate = (TOP_RATE_COMMANDS * 1_000) / (performance.now() - startMs);
    },
    async run({ writer, reader, topRate = 0 }, round) {
      await using paced = topRate === 0 ? undefined : await startPacedWriter(writer, topRate / 2);
      const lags = await measureLags(writer, reader, `${round}`, LAG_SAMPLES);
      await paced?.checkPace();
      return lags[Math.ceil((lags.length * percentile) / 100) - 1] ?? Number.NaN;
    },
  });
}

async function measureLags(
  writer: number,
  reader: number,
  name: string,
  samples: number,
): Promise<number[]> {
  return withClient(writer, (from) =>
    withClient(reader, async (to) => {
      const lags: number[] = [];
      for (let n = 0; n < samples; n += 1) {
        const member = `${name}:${n}`;
        const startMs = performance.now();
        const written = from.sadd('lag', member);
        while ((await to.sismember('lag', member)) === 0);
        lags.push(performance.now() - startMs);
        await written;
      }
      return lags.toSorted((a, b) => a - b);
    }),
  );
}

export const setsClusterBenches: readonly AnyBench[] = [
  rateBench('sets-cluster-sadd', 1, 50_000),
  rateBench('sets-cluster-sadd-pipelined', 16, 300_000),
  lagBench('sets-lag-p50', 50, 'idle'),
  lagBench('sets-lag-p99', 99, 'idle'),
  lagBench('sets-lag-loaded-p99', 99, 'loaded'),
];
