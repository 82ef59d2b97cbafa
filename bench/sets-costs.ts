// Sets: the cost of a million elements: bytes in memory and in a checkpoint, the time to load them, and how long
// others wait while one client reads them all or a checkpoint is written.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readdir, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as afterMs } from 'node:timers/promises';
import {
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { createSystemFiles } from '@syncline/kernel/node';
import { openSets } from '@syncline/sets';
import { makeTempDirectory } from '@syncline/testkit';
import { Redis } from 'ioredis';
import type { AnyBench } from './bench.js';
import { defineBench } from './measure.js';
import { fillSet } from './sets-benchmark.js';
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
/** How long clients are watched, with and without a checkpoint. */
const WATCH_MS = 3_000;

const filled = {
  name: 'syncline serve',
  async open(): Promise<SynclineServer & AsyncDisposable> {
    const server = await startSyncline();
    await fillSet(server.port, 'set', MEMBERS);
    return server;
  },
};

const filledRedis = {
  ...redisContestant,
  async open(): Promise<SetsServer & AsyncDisposable> {
    const server = await redisContestant.open();
    await fillSet(server.port, 'set', MEMBERS);
    return server;
  },
};

const checkpointBench = defineBench<SynclineServer>({
  name: 'sets-checkpoint-per-element',
  better: 'less',
  unit: 'bytes',
  about: `the checkpoint of ${FILLED}, per member`,
  contestants: [filled],
  bound: { name: 'at most', value: 50 },
  isLong: true,
  async run(server) {
    await save(server.port);
    return (await directoryBytes(join(server.dataDir, 'sets', 'checkpoint'))) / MEMBERS;
  },
});

const memoryBench = defineBench<SetsServer>({
  name: 'sets-memory-per-element',
  better: 'less',
  unit: 'bytes',
  about: `memory growth of a server process per additional set of ${MEMBERS} members of 20 bytes`,
  contestants: [synclineContestant, redisContestant],
  bound: { name: 'at most', value: 100 },
  isLong: true,
  async run(server, round) {
    const before = await server.residentBytes();
    await fillSet(server.port, `set:${round}`, MEMBERS);
    return ((await server.residentBytes()) - before) / MEMBERS;
  },
});

/** Opens a copy of the directory in this process, so that the startup of a program is not included. */
function loadBench(name: string, from: 'checkpoint' | 'log', boundMs: number): AnyBench {
  return defineBench<SynclineServer>({
    name,
    better: 'less',
    unit: 'ms',
    about: `loading ${FILLED} from a ${from}`,
    contestants: [filled],
    bound: { name: 'at most', value: boundMs },
    isLong: true,
    async run(server) {
      if (from === 'checkpoint') await save(server.port);
      await using copy = await makeTempDirectory('load');
      await cp(join(server.dataDir, 'sets'), copy.path, { recursive: true });
      const deps = {
        files: createSystemFiles(copy.path),
        clock: createSystemClock(),
        random: createSystemRandom(),
        logger: silentLogger,
        metrics: silentMetrics,
      };
      const startMs = performance.now();
      const sets = await openSets(deps, { nodeId: 1, clusterId: 'syncline' });
      const tookMs = performance.now() - startMs;
      if (sets.cardinality(Buffer.from('set')) !== MEMBERS) throw new Error('members are missing');
      await sets.close();
      return tookMs;
    },
  });
}

const readAllBench = defineBench<SetsServer>({
  name: 'sets-smembers',
  better: 'less',
  unit: 'ms',
  about: `SMEMBERS of ${FILLED}, from the request to the last byte`,
  contestants: [filled, filledRedis],
  isLong: true,
  run: ({ port }) => readAllMs(port),
});

const readAllOthersBench = defineBench<SetsServer>({
  name: 'sets-smembers-others-p99',
  better: 'less',
  unit: 'ms',
  about: `p99 of 8 clients with SISMEMBER while another reads ${FILLED} with SMEMBERS`,
  contestants: [filled, filledRedis],
  bound: { name: 'at most', value: 10 },
  isLong: true,
  run: ({ port }) =>
    p99Ms(port, ['sismember', 'set', 'element:000000000001'], async () => {
      // A separate process: parsing the reply here would delay the others.
      const reader = spawn('redis-cli', ['-p', String(port), 'smembers', 'set'], {
        stdio: 'ignore',
      });
      await once(reader, 'exit');
      if (reader.exitCode !== 0) throw new Error(`redis-cli ended with ${reader.exitCode}`);
    }),
});

const checkpointP99Bench = defineBench<SetsServer>({
  name: 'sets-checkpoint-p99',
  better: 'less',
  unit: 'times',
  about: `p99 of 8 clients with SADD while checkpoints of ${FILLED} are written, relative to p99 without`,
  contestants: [filled, filledRedis],
  bound: { name: 'at most', value: 3 },
  isLong: true,
  async run({ port }) {
    const words = ['sadd', 'other', 'a member of 20 bytes'];
    const without = await p99Ms(port, words, () => afterMs(WATCH_MS));
    const during = await p99Ms(port, words, async () => {
      const endMs = performance.now() + WATCH_MS;
      while (performance.now() < endMs) await save(port);
    });
    return during / without;
  },
});

export const setsCostBenches: readonly AnyBench[] = [
  checkpointBench,
  memoryBench,
  loadBench('sets-load-log', 'log', 2_000),
  loadBench('sets-load-checkpoint', 'checkpoint', 1_000),
  readAllBench,
  readAllOthersBench,
  checkpointP99Bench,
];

/** BGSAVE, and waits until it has finished. */
async function save(port: number): Promise<void> {
  await withClient(port, async (client) => {
    await client.bgsave();
    for (;;) {
      const info = await client.info('persistence');
      if (info.includes('rdb_bgsave_in_progress:0')) return;
      await afterMs(5);
    }
  });
}

async function directoryBytes(directory: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(directory)) bytes += (await stat(join(directory, name))).size;
  return bytes;
}

/** Counts the bytes instead of parsing them: 27 per member and a header line. */
async function readAllMs(port: number): Promise<number> {
  const expectedBytes = MEMBERS * 27 + `*${MEMBERS}\r\n`.length;
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  const startMs = performance.now();
  socket.write('SMEMBERS set\r\n');
  let bytes = 0;
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      bytes += chunk.length;
      if (bytes === expectedBytes) resolve();
    });
  });
  socket.destroy();
  return performance.now() - startMs;
}

/** The time of a command at 8 clients while `work` runs. */
async function p99Ms(
  port: number,
  [command = '', ...args]: readonly string[],
  work: () => Promise<unknown>,
): Promise<number> {
  const clients = Array.from({ length: 8 }, () => new Redis(port, '127.0.0.1', { protocol: 2 }));
  try {
    await Promise.all(clients.map((client) => client.ping()));
    let isDone = false;
    const latenciesMs: number[] = [];
    const ask = async (client: Redis) => {
      while (!isDone) {
        const startMs = performance.now();
        await client.call(command, ...args);
        latenciesMs.push(performance.now() - startMs);
        await afterMs(1);
      }
    };
    const asking = clients.map(ask);
    await work();
    isDone = true;
    await Promise.all(asking);
    return latenciesMs.toSorted((a, b) => a - b)[Math.floor(latenciesMs.length * 0.99)] ?? 0;
  } finally {
    for (const client of clients) client.disconnect();
  }
}
