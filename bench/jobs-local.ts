// Jobs: the embedded store in the process that writes, subscribes and reads, without a network in between.
import type { Cursor } from '@syncline/jobs';
import type { AnyBench } from './bench.js';
import { DelayCounts } from './delay-counts.js';
import { CELLS } from './jobs-cells.js';
import { type LocalJob, openFilledLocalJob } from './jobs-local-store.js';
import { newestCursor } from './jobs-newest.js';
import { eventsOf, type ListenedScope, scopesOf } from './jobs-scopes.js';
import { defineBench, quantile } from './measure.js';
import { atPace } from './pace.js';

const AUDIENCE = { whole: 10, tag: 90, task: 900 } as const;
const PER_SECOND = 5_000;
const SECONDS = 3;
const READS = 500;
const NEWEST_TIMEOUT_MS = 60_000;

interface ListenedJob extends LocalJob {
  readonly delays: DelayCounts;
}

/** Subscribers resume at the newest change: replays are measured elsewhere. */
async function openListenedJob(): Promise<ListenedJob> {
  const job = await openFilledLocalJob();
  const delays = new DelayCounts();
  const after = await newestCursor(job.store, job.jobId);
  await Promise.all(scopesOf(AUDIENCE).map((scope) => follow(job, { scope, after }, delays)));
  return { ...job, delays };
}

/** Resolves when it is live. */
function follow(
  { store, jobId }: LocalJob,
  options: { readonly scope: ListenedScope; readonly after: Cursor },
  delays: DelayCounts,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const read = async () => {
      for await (const events of store.subscribe(jobId, options).batches()) {
        const nowMs = performance.timeOrigin + performance.now();
        for (const event of events) {
          if (event.kind === 'synced') resolve();
          if (event.kind === 'change') delays.add(nowMs - event.state.timestampMs);
          if (event.kind === 'gap') throw new Error(`a gap: ${event.reason}`);
        }
      }
    };
    read().catch(reject);
  });
}

const fanoutBench = defineBench<ListenedJob>({
  name: 'jobs-fanout-local-p99',
  unit: 'ms',
  better: 'less',
  isLong: true,
  about: `from a change to its subscribers in the same process, 99th percentile: 1000 subscribers (10 of the job, 90 of a tag, 900 of a task), ${PER_SECOND} synced writes/s`,
  contestants: [{ name: 'embedded store', open: openListenedJob }],
  bound: { name: 'at most', value: 10 },
  async run({ write, delays }, round) {
    const count = PER_SECOND * SECONDS;
    const start = CELLS + round * count;
    delays.clear();
    const writes: Promise<void>[] = [];
    await atPace({ perSecond: PER_SECOND, count }, (index) => {
      writes.push(write(start + index));
    });
    await Promise.all(writes);
    const wanted = eventsOf(AUDIENCE, start, start + count);
    const deadlineMs = performance.now() + NEWEST_TIMEOUT_MS;
    while (delays.total < wanted) {
      if (performance.now() > deadlineMs)
        throw new Error(`${delays.total} of ${wanted} events arrived`);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return delays.quantile(0.99);
  },
});

/** A write before each read, so that no result comes from a cache. */
function readBench(name: string, about: string, read: (job: LocalJob) => Promise<unknown>) {
  return defineBench<LocalJob>({
    name,
    unit: 'ms',
    better: 'less',
    isLong: true,
    about: `${about} of ${CELLS} cells in the same process, 99th percentile of ${READS}, with a write before each`,
    contestants: [{ name: 'embedded store', open: openFilledLocalJob }],
    bound: { name: 'at most', value: 2 },
    async run(job, round) {
      const times: number[] = [];
      for (let turn = 0; turn < READS; turn += 1) {
        await job.write(CELLS + round * READS + turn);
        const startMs = performance.now();
        await read(job);
        times.push(performance.now() - startMs);
      }
      return quantile(times, 0.99);
    },
  });
}

export const jobsLocalBenches: readonly AnyBench[] = [
  fanoutBench,
  readBench('jobs-get-state-local-p99', 'getState of one cell', ({ store, jobId }) =>
    store.getState(jobId, 5_000, 'tag-5'),
  ),
  readBench('jobs-get-progress-local-p99', 'getState and getProgress', ({ store, jobId }) =>
    store.aggregate(jobId, {}),
  ),
];
