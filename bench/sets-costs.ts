// Sets: what a million elements cost: bytes on disk and in memory, the time of a start, and the time of others
// while one client reads them all.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as afterMs } from 'node:timers/promises';
import { ClassicLevel } from 'classic-level';
import { Redis } from 'ioredis';
import type { AnyBench } from './bench.js';
import { defineBench } from './measure.js';
import { fillSet, RANDOM_MEMBER, runBenchmark } from './sets-benchmark.js';
import {
  redisContestant,
  type SetsServer,
  type SynclineServer,
  startSyncline,
  synclineContestant,
  withClient,
} from './sets-servers.js';

const MEMBERS = 1_000_000;
const FILLED = `a set of ${MEMBERS} members of 20 bytes`;
/** A round. All rounds together stay within the cache, beyond which nothing grows. */
const MEMORY_MEMBERS = 400_000;
/** Elements that are not folded at most, and so at a kill. */
const HEAD_COUNT = 500_000;

const filled = {
  name: 'syncline serve',
  async open(): Promise<SynclineServer & AsyncDisposable> {
    const server = await startSyncline();
    await fillSet(server.port, 'set', MEMBERS);
    return server;
  },
};

const diskBench = defineBench<SynclineServer>({
  name: 'sets-disk-per-element',
  better: 'less',
  unit: 'bytes',
  about: `${FILLED}, stopped and compacted`,
  contestants: [filled],
  bound: { name: 'at most', value: 90 },
  isLong: true,
  async run(server) {
    await server.stop();
    const bytes = await compactedBytes(server.dataDir);
    await server.restart('stop');
    return bytes / MEMBERS;
  },
});

const memoryBench = defineBench<SetsServer>({
  name: 'sets-memory-per-element',
  better: 'less',
  unit: 'bytes',
  about: `what the process of a server grows by with each further set of ${MEMORY_MEMBERS} members of 20 bytes`,
  contestants: [synclineContestant, redisContestant],
  bound: { name: 'at most', value: 200 },
  isLong: true,
  async run(server, round) {
    const before = await server.residentBytes();
    await fillSet(server.port, `set:${round}`, MEMORY_MEMBERS);
    return ((await server.residentBytes()) - before) / MEMORY_MEMBERS;
  },
});

function startBench(name: string, how: 'stop' | 'kill', boundMs: number): AnyBench {
  return defineBench<SynclineServer>({
    name,
    better: 'less',
    unit: 'ms',
    about: `a start with ${FILLED}, ${how === 'stop' ? 'after a clean stop' : 'killed with a full head'}, with that of the program`,
    contestants: [filled],
    bound: { name: 'at most', value: boundMs },
    isLong: true,
    async run(server) {
      const words = ['sadd', 'more', RANDOM_MEMBER];
      const load = { port: server.port, count: HEAD_COUNT, pipeline: 16, words };
      if (how === 'kill') await runBenchmark(load);
      else await server.stop();
      const startMs = performance.now();
      await server.restart(how);
      await withClient(server.port, (client) => client.sismember('set', 'element:000000000000'));
      return performance.now() - startMs;
    },
  });
}

const readAllBench = defineBench<SetsServer>({
  name: 'sets-smembers-others-p99',
  better: 'less',
  unit: 'ms',
  about: `the time of 8 clients with SISMEMBER while another reads ${FILLED} with SMEMBERS`,
  contestants: [filled, { ...redisContestant, open: openFilledRedis }],
  bound: { name: 'at most', value: 20 },
  isLong: true,
  run: ({ port }) => othersP99Ms(port),
});

export const setsCostBenches: readonly AnyBench[] = [
  diskBench,
  memoryBench,
  startBench('sets-start-clean', 'stop', 1_000),
  startBench('sets-start-killed', 'kill', 5_000),
  readAllBench,
];

async function openFilledRedis(): Promise<SetsServer & AsyncDisposable> {
  const server = await redisContestant.open();
  await fillSet(server.port, 'set', MEMBERS);
  return server;
}

/** Who reads all members is a process of its own: parsing them here would delay the others. */
async function othersP99Ms(port: number): Promise<number> {
  const clients = Array.from({ length: 8 }, () => new Redis(port, '127.0.0.1', { protocol: 2 }));
  try {
    await Promise.all(clients.map((client) => client.ping()));
    let isDone = false;
    const latenciesMs: number[] = [];
    const ask = async (client: Redis) => {
      while (!isDone) {
        const startMs = performance.now();
        await client.sismember('set', 'element:000000000001');
        latenciesMs.push(performance.now() - startMs);
        await afterMs(1);
      }
    };
    const asking = clients.map(ask);
    const reader = spawn('redis-cli', ['-p', String(port), 'smembers', 'set'], { stdio: 'ignore' });
    await once(reader, 'exit');
    isDone = true;
    await Promise.all(asking);
    if (reader.exitCode !== 0) throw new Error(`redis-cli ended with ${reader.exitCode}`);
    return latenciesMs.toSorted((a, b) => a - b)[Math.floor(latenciesMs.length * 0.99)] ?? 0;
  } finally {
    for (const client of clients) client.disconnect();
  }
}

/** The bytes of the store of the sets once LevelDB has nothing left to tidy. */
async function compactedBytes(dataDir: string): Promise<number> {
  const names = await readdir(dataDir, { recursive: true });
  const current = names
    .filter((name) => name.endsWith('CURRENT'))
    .find((name) => /sets/.test(name));
  if (current === undefined) throw new Error(`no store of sets in ${dataDir}`);
  const directory = join(dataDir, dirname(current));
  const database = new ClassicLevel<Uint8Array, Uint8Array>(directory, {
    keyEncoding: 'view',
    valueEncoding: 'view',
  });
  await database.open();
  await database.compactRange(new Uint8Array(0), new Uint8Array(8).fill(0xff));
  await database.close();
  const files = await readdir(directory);
  const sizes = await Promise.all(
    files.map(async (file) => (await stat(join(directory, file))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
