// Jobs: how long a change takes to reach its subscribers, and what the server does in the meantime.
//
// Writes come at a steady pace from this process, subscribers are in another one, and the server in a third; Redis
// does the same in turn, with a stream per scope and XREAD BLOCK. One load gives all figures of its benches, and
// ends with an error if an event is missing, comes twice or is replaced by a gap.
import { setTimeout as afterMs } from 'node:timers/promises';
import { createJobReader, type JobReader } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import type { AnyBench, Measured } from './bench.js';
import { DelayCounts } from './delay-counts.js';
import { redisVersion } from './fair-redis-peer.js';
import { CELLS, inParallel } from './jobs-cells.js';
import { type Listeners, startListeners } from './jobs-listeners.js';
import { type Audience, eventsOf } from './jobs-scopes.js';
import { startJobsServer, startSyncedRedis } from './jobs-servers.js';
import { type JobsWriter, openRedisWriter, openRemoteWriter } from './jobs-writers.js';
import { atPace } from './pace.js';
import { Slots } from './slots.js';

interface Load {
  readonly audience: Audience;
  readonly perSecond: number;
  readonly seconds: number;
}

/** 95,000 events a second. */
const LARGE: Load = {
  audience: { whole: 10, tag: 90, task: 900 },
  perSecond: 5_000,
  seconds: 10,
};
const SMALL: Load = { audience: { whole: 1, tag: 9, task: 90 }, perSecond: 500, seconds: 5 };

const JOB_ID = 'fanout';
const CONNECTIONS = 10;
const FILL_AT_ONCE = 200;
/** Less than the queue of a server holds: a slower server delays writes and refuses none. */
const WRITES_AT_ONCE = 4_000;
const READ_INTERVAL_MS = 20;
const LAST_EVENT_TIMEOUT_MS = 60_000;

/** The results of one run of a load. */
interface Figures {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** From a write to its reply. */
  readonly answerP99Ms: number;
  readonly getStateP99Ms: number;
  readonly getProgressP99Ms: number;
  readonly stallMs: number;
}

interface FanoutRig extends AsyncDisposable {
  readonly writer: JobsWriter;
  readonly listeners: Listeners;
  /** Of our server only. */
  readonly reader?: JobReader;
  stallMs(): Promise<number>;
}

async function openSynclineRig({ audience }: Load): Promise<FanoutRig> {
  const server = await startJobsServer();
  const { address } = server;
  const writer = await openRemoteWriter(address, { jobId: JOB_ID, connections: CONNECTIONS });
  await fill(writer);
  const listeners = await startListeners({
    server: { kind: 'syncline', address },
    jobId: JOB_ID,
    audience,
  });
  const store = createRemoteJobStore({ address });
  const reader: JobReader = await createJobReader({ store, jobId: JOB_ID });
  return {
    writer,
    listeners,
    reader,
    stallMs: () => server.stallMs(),
    async [Symbol.asyncDispose]() {
      await listeners[Symbol.asyncDispose]();
      await store.close();
      await writer[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function openRedisRig({ audience }: Load): Promise<FanoutRig> {
  const server = await startSyncedRedis();
  const { port } = server;
  const writer = await openRedisWriter(port, {
    jobId: JOB_ID,
    connections: CONNECTIONS,
    streams: ({ taskId, tag }) => [tag, String(taskId)],
  });
  await fill(writer);
  const listeners = await startListeners({
    server: { kind: 'redis', port },
    jobId: JOB_ID,
    audience,
  });
  return {
    writer,
    listeners,
    stallMs: async () => 0,
    async [Symbol.asyncDispose]() {
      await listeners[Symbol.asyncDispose]();
      await writer[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function fill(writer: JobsWriter): Promise<void> {
  await inParallel({ count: CELLS, atOnce: FILL_AT_ONCE }, (index) => writer.write(index));
}

/** `start`: the position of the walk at which the run begins. */
async function runLoad(rig: FanoutRig, load: Load, start: number): Promise<Figures> {
  const { writer, listeners, reader } = rig;
  const count = load.perSecond * load.seconds;
  await rig.stallMs(); // earlier events do not count
  listeners.restart();
  const answers = new DelayCounts();
  const writes: Promise<void>[] = [];
  const slots = new Slots(WRITES_AT_ONCE);
  const reading = reader && readWhile(reader, () => writes.length < count);
  await atPace({ perSecond: load.perSecond, count }, (index) => {
    const sentMs = performance.now();
    const written = slots.run(() => writer.write(start + index));
    writes.push(written.then(() => answers.add(performance.now() - sentMs)));
  });
  await Promise.all(writes);
  const wanted = eventsOf(load.audience, start, start + count);
  const report = await listeners.untilReport(
    ({ eventsCount }) => eventsCount >= wanted,
    LAST_EVENT_TIMEOUT_MS,
  );
  const { eventsCount, gapsCount, p50Ms, p99Ms } = report;
  if (eventsCount !== wanted || gapsCount > 0)
    throw new Error(`${eventsCount} of ${wanted} events arrived, with ${gapsCount} gaps`);
  const [states, progresses] = (await reading) ?? [new DelayCounts(), new DelayCounts()];
  return {
    p50Ms,
    p99Ms,
    answerP99Ms: answers.quantile(0.99),
    getStateP99Ms: states.quantile(0.99),
    getProgressP99Ms: progresses.quantile(0.99),
    stallMs: await rig.stallMs(),
  };
}

/** How long getState and getProgress over the whole job take during the load. */
async function readWhile(reader: JobReader, isWanted: () => boolean) {
  const states = new DelayCounts();
  const progresses = new DelayCounts();
  while (isWanted()) {
    const startMs = performance.now();
    await reader.getState();
    const betweenMs = performance.now();
    await reader.getProgress();
    states.add(betweenMs - startMs);
    progresses.add(performance.now() - betweenMs);
    await afterMs(READ_INTERVAL_MS);
  }
  return [states, progresses] as const;
}

interface LoadResult {
  readonly ours: readonly Figures[];
  readonly redis: readonly Figures[];
}

/** Both take turns; the first run of each is a warm-up. */
async function runRounds(load: Load, runs: number): Promise<LoadResult> {
  await using ours = await openSynclineRig(load);
  await using redis = await openRedisRig(load);
  const results = { ours: [] as Figures[], redis: [] as Figures[] };
  for (let round = 0; round <= runs; round += 1) {
    const start = CELLS + round * load.perSecond * load.seconds;
    const figures = {
      ours: await runLoad(ours, load, start),
      redis: await runLoad(redis, load, start),
    };
    if (round === 0) continue;
    results.ours.push(figures.ours);
    results.redis.push(figures.redis);
  }
  return results;
}

interface FigureBench {
  readonly name: string;
  readonly about: string;
  readonly figure: keyof Figures;
  /** Goals, with or without Redis for comparison. */
  readonly atMostMs?: number;
  readonly isWithRedis: boolean;
}

function benchesOf(load: Load, benches: readonly FigureBench[]): readonly AnyBench[] {
  let result: Promise<LoadResult> | undefined;
  const { whole, tag, task } = load.audience;
  const during = `${whole + tag + task} subscribers (${whole} of the job, ${tag} of a tag, ${task} of a task), ${load.perSecond} synced writes/s`;
  return benches.map(({ name, about, figure, atMostMs, isWithRedis }) => ({
    name,
    unit: 'ms',
    better: 'less',
    isLong: true,
    about: `${about}: ${during}`,
    versions: isWithRedis && redisVersion !== undefined ? [`Redis Streams ${redisVersion}`] : [],
    async measure(runs): Promise<readonly Measured[]> {
      result ??= runRounds(load, runs);
      const { ours, redis } = await result;
      const valuesOf = (figures: readonly Figures[]) => figures.map((each) => each[figure]);
      const peer = { contestant: 'Redis Streams', values: valuesOf(redis) };
      return [
        { contestant: 'syncline serve', values: valuesOf(ours) },
        ...(isWithRedis ? [peer] : []),
        ...(atMostMs === undefined ? [] : [{ contestant: 'at most', values: [atMostMs] }]),
      ];
    },
  }));
}

export const jobsFanoutBenches: readonly AnyBench[] = [
  ...benchesOf(SMALL, [
    {
      name: 'jobs-fanout-100-p50',
      about: 'from a change to its subscribers, 50th percentile',
      figure: 'p50Ms',
      isWithRedis: true,
    },
    {
      name: 'jobs-fanout-100-p99',
      about: 'from a change to its subscribers, 99th percentile',
      figure: 'p99Ms',
      isWithRedis: true,
    },
  ]),
  ...benchesOf(LARGE, [
    {
      name: 'jobs-fanout-1000-p50',
      about: 'from a change to its subscribers, 50th percentile',
      figure: 'p50Ms',
      isWithRedis: true,
    },
    {
      name: 'jobs-fanout-1000-p99',
      about: 'from a change to its subscribers, 99th percentile',
      figure: 'p99Ms',
      atMostMs: 25,
      isWithRedis: true,
    },
    {
      name: 'jobs-load-answer-p99',
      about: 'from a write to its reply, 99th percentile',
      figure: 'answerP99Ms',
      atMostMs: 25,
      isWithRedis: true,
    },
    {
      name: 'jobs-load-get-state-p99',
      about: 'getState over 100,000 cells over gRPC during the load',
      figure: 'getStateP99Ms',
      atMostMs: 2,
      isWithRedis: false,
    },
    {
      name: 'jobs-load-get-progress-p99',
      about: 'getProgress over 100,000 cells over gRPC during the load',
      figure: 'getProgressP99Ms',
      atMostMs: 2,
      isWithRedis: false,
    },
    {
      name: 'jobs-load-stall',
      about: "the longest time that the server's event loop was blocked",
      figure: 'stallMs',
      atMostMs: 20,
      isWithRedis: false,
    },
  ]),
];
