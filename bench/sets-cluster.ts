// Sets on three nodes beside a redis-server with two replicas: how fast one node writes, how soon another shows it,
// and what it takes a node that was away to catch up.
import { type Cluster, startCluster, startRedis } from '@syncline/testkit';
import { Redis } from 'ioredis';
import type { AnyBench, Contestant } from './bench.js';
import { redisVersion } from './fair-redis-peer.js';
import { defineBench } from './measure.js';
import { fillSet, RANDOM_MEMBER, runBenchmark } from './sets-benchmark.js';
import { withClient } from './sets-servers.js';

const LAG_SAMPLES = 500;
/** Writes before the first sample: until the code of a new process is compiled, a write takes about twice as long. */
const WARM_UP_WRITES = 3_000;
/** Members of the node that was away, and how many of them change meanwhile, a tenth by removes. */
const MEMBERS = 1_000_000;
const CHANGES = 100_000;
const DIGEST_POLL_MS = 10;

interface Replicated {
  readonly writer: number;
  readonly reader: number;
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
      await runBenchmark({
        port: writer,
        count,
        pipeline,
        words: ['sadd', `set:${round}`, RANDOM_MEMBER],
      });
      await withClient(writer, (client) => client.wait(2, 60_000)); // what is not there yet counts, too
      return count;
    },
  });
}

/** From the moment a write is sent until another node shows it. */
function lagBench(name: string, percentile: number, load: 'idle' | 'loaded'): AnyBench {
  const under =
    load === 'idle' ? 'nothing else is written' : 'others write at about half of the top rate';
  return defineBench<Replicated>({
    name,
    better: 'less',
    unit: 'ms',
    about: `p${percentile} of the time until a peer shows a write, while ${under}`,
    contestants: [syncline, redis],
    isLong: true,
    prepare: async ({ writer, reader }) => {
      await measureLags(writer, reader, 'warm-up', WARM_UP_WRITES);
    },
    async run({ writer, reader }, round) {
      const stop = new AbortController();
      const noise = load === 'idle' ? undefined : keepWriting(writer, stop.signal);
      const lags = await measureLags(writer, reader, `${round}`, LAG_SAMPLES);
      stop.abort();
      await noise;
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

/** Pipelines of 16 with pauses: well below what a server can take. */
async function keepWriting(port: number, signal: AbortSignal): Promise<void> {
  const client = new Redis(port);
  for (let n = 0; !signal.aborted; n += 1) {
    const adds = Array.from({ length: 16 }, (_, at) => client.sadd('noise', `${n}:${at}`));
    await Promise.all(adds);
  }
  client.disconnect();
}

/** A node is stopped, the others change a tenth of the members, and it comes back. */
const rejoinBench = defineBench<Cluster>({
  name: 'sets-rejoin',
  better: 'less',
  unit: 'ms',
  about: `a node that was away while ${CHANGES} of ${MEMBERS} members changed: from its start to equal digests`,
  contestants: [
    {
      name: 'syncline serve, 3 nodes',
      async open() {
        const cluster = await startCluster({ nodes: 3, isMeshed: true, readyTimeoutMs: 60_000 });
        const { writer } = portsOf(cluster);
        await fillSet(writer, 'set', MEMBERS);
        await withClient(writer, (client) => client.wait(2, 60_000));
        return cluster;
      },
    },
  ],
  bound: { name: 'at most', value: 3_000 },
  isLong: true,
  async run(cluster, round) {
    const { writer } = portsOf(cluster);
    const away = cluster.node(3);
    await away.stop();
    await withClient(writer, (client) => changeMembers(client, round));
    await away.start();
    const startMs = performance.now();
    for (;;) {
      const digests = await Promise.all(
        cluster.nodes.map((node) => digestOf(node.address('resp').port)),
      );
      if (new Set(digests).size === 1) return performance.now() - startMs;
      await new Promise((resolve) => setTimeout(resolve, DIGEST_POLL_MS));
    }
  },
});

async function changeMembers(client: Redis, round: number): Promise<void> {
  const removes = CHANGES / 10;
  for (let at = 0; at < CHANGES; at += 1_000) {
    const numbers = Array.from({ length: 1_000 }, (_, n) => round * CHANGES + at + n);
    const members = numbers.map((number) => `element:${String(number).padStart(12, '0')}`);
    if (at < removes) await client.srem('set', ...members);
    else await client.sadd('set', ...members.map((member) => `${member}:new`));
  }
}

function digestOf(port: number): Promise<string> {
  return withClient(port, async (client) => String(await client.call('SYNCLINE.DIGEST')));
}

export const setsClusterBenches: readonly AnyBench[] = [
  rateBench('sets-cluster-sadd', 1, 50_000),
  rateBench('sets-cluster-sadd-pipelined', 16, 300_000),
  lagBench('sets-lag-p50', 50, 'idle'),
  lagBench('sets-lag-p99', 99, 'idle'),
  lagBench('sets-lag-loaded-p99', 99, 'loaded'),
  rejoinBench,
];
