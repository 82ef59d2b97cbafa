// Jobs: the memory that subscribers that do not read cost the server, and how soon all have the last states.
//
// Whole-job subscribers on `coalesce`, in two processes, one of which is frozen during the writes. 1,000 of them at
// 5,000 writes/s are more events than any client can process: those that read skip what was replaced. The job is
// small, so that its last states can reach all of them within seconds.

import { setTimeout as afterMs } from 'node:timers/promises';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import type { AnyBench, Measured } from './bench.js';
import { inParallel, TAGS } from './jobs-cells.js';
import { startListeners } from './jobs-listeners.js';
import { type JobsServer, startJobsServer } from './jobs-servers.js';
import { type JobsWriter, openRemoteWriter } from './jobs-writers.js';
import { atPace } from './pace.js';
import { Slots } from './slots.js';

const JOB_ID = 'stalled';
const TASKS = 100;
const CELLS = TASKS * TAGS.length;
const CONNECTIONS = 10;
const PER_SECOND = 5_000;
/** Less than the queue of a server holds: a slower server delays writes and refuses none. */
const WRITES_AT_ONCE = 4_000;
/** A process that has not served any load yet would grow from that alone. */
const WARM_UP_SECONDS = 5;
const LOOK_INTERVAL_MS = 100;
const FINAL_TIMEOUT_MS = 120_000;
const MIB = 1024 * 1024;

interface StalledLoad {
  readonly readers: number;
  readonly stalled: number;
  readonly seconds: number;
}

interface StalledFigures {
  readonly grownMiB: number;
  readonly finalSeconds: number;
}

/** A process that has allocated memory keeps it, so each run has its own server. */
async function runStalled({ readers, stalled, seconds }: StalledLoad): Promise<StalledFigures> {
  await using server = await startJobsServer();
  const { address } = server;
  await using writer = await openRemoteWriter(address, {
    jobId: JOB_ID,
    tasks: TASKS,
    connections: CONNECTIONS,
  });
  await inParallel({ count: CELLS, atOnce: 200 }, (index) => writer.write(index));
  const setup = {
    server: { kind: 'syncline', address },
    jobId: JOB_ID,
    overflow: 'coalesce',
  } as const;
  const open = (whole: number) =>
    startListeners({ ...setup, audience: { whole, tag: 0, task: 0 } });
  await using reading = await open(readers);
  await using frozen = await open(stalled);
  await writeAtPace(writer, { start: CELLS, seconds: WARM_UP_SECONDS });
  const beforeBytes = await server.residentBytes();
  frozen.freeze();
  const memory = watchMemory(server);
  await writeAtPace(writer, { start: CELLS + PER_SECOND * WARM_UP_SECONDS, seconds });
  const lastWriteMs = performance.now();
  frozen.thaw();
  const { revision } = await newestOf(address);
  for (const listeners of [reading, frozen])
    await listeners.untilReport((report) => report.lowestRevision >= revision, FINAL_TIMEOUT_MS);
  return {
    grownMiB: ((await memory.mostBytes()) - beforeBytes) / MIB,
    finalSeconds: (performance.now() - lastWriteMs) / 1_000,
  };
}

/** Resolves when all have been answered. */
async function writeAtPace(
  writer: JobsWriter,
  { start, seconds }: { readonly start: number; readonly seconds: number },
): Promise<void> {
  const writes: Promise<void>[] = [];
  const slots = new Slots(WRITES_AT_ONCE);
  await atPace({ perSecond: PER_SECOND, count: PER_SECOND * seconds }, (index) => {
    writes.push(slots.run(() => writer.write(start + index)));
  });
  await Promise.all(writes);
}

/** Samples until it is asked for the maximum. */
function watchMemory({ residentBytes }: JobsServer) {
  const stop = new AbortController();
  let mostBytes = 0;
  const look = async () => {
    for (;;) {
      mostBytes = Math.max(mostBytes, await residentBytes());
      if (stop.signal.aborted) return mostBytes;
      await afterMs(LOOK_INTERVAL_MS);
    }
  };
  const looking = look();
  looking.catch(() => {}); // if the server has ended, the bench says why
  return {
    mostBytes: () => {
      stop.abort();
      return looking;
    },
  };
}

async function newestOf(address: string): Promise<{ readonly revision: number }> {
  await using store = createRemoteJobStore({ address });
  return await store.aggregate(JOB_ID, {});
}

function benchesOf(prefix: string, load: StalledLoad, grownMaxMiB: number): readonly AnyBench[] {
  let figures: Promise<readonly StalledFigures[]> | undefined;
  const measureOnce = async (runs: number) => {
    const all: StalledFigures[] = [];
    for (let run = 0; run < runs; run += 1) all.push(await runStalled(load));
    return all;
  };
  const { readers, stalled, seconds } = load;
  const who = `${readers + stalled} subscribers of the whole job on coalesce, ${stalled} of them stalled for ${seconds} s at ${PER_SECOND} writes/s`;
  const benchOf = (
    name: string,
    facts: { readonly unit: string; readonly about: string; readonly atMost: number },
    figureOf: (figures: StalledFigures) => number,
  ): AnyBench => ({
    name: `${prefix}-${name}`,
    unit: facts.unit,
    better: 'less',
    isLong: true,
    versions: [],
    about: `${facts.about}: ${who}`,
    async measure(runs): Promise<readonly Measured[]> {
      figures ??= measureOnce(runs);
      return [
        { contestant: 'syncline serve', values: (await figures).map(figureOf) },
        { contestant: 'at most', values: [facts.atMost] },
      ];
    },
  });
  return [
    benchOf(
      'memory',
      { unit: 'MiB', about: 'peak growth of server memory', atMost: grownMaxMiB },
      ({ grownMiB }) => grownMiB,
    ),
    benchOf(
      'final',
      { unit: 's', about: 'from the last reply until all have the last states', atMost: 5 },
      ({ finalSeconds }) => finalSeconds,
    ),
  ];
}

export const jobsStalledBenches: readonly AnyBench[] = [
  ...benchesOf('jobs-stalled-1-of-10', { readers: 9, stalled: 1, seconds: 10 }, 64),
  ...benchesOf('jobs-stalled-100-of-1000', { readers: 900, stalled: 100, seconds: 20 }, 164),
];
