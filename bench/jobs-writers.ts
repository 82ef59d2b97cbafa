// The writers of the jobs benches: over gRPC to our server, directly into a store of this process, and to Redis. Each
// write is synced, and resolves with its reply.
//
// In Redis a write is one transaction: the latest state of the cell in a hash, and an entry in a stream for each
// scope that has subscribers: that of the job, of a tag or of a task.
import { randomBytes } from 'node:crypto';
import type { JobInfo, JobStore, StateWrite } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { connectRedis } from './fair-redis-peer.js';
import { type CellWrite, cellWriteAt, inParallel, TAGS, TASKS } from './jobs-cells.js';

const run = randomBytes(8).toString('hex');
let eventIdsCount = 0;

/** As long as those of a manager, but created at no cost: the figures are those of the stores. */
function nextEventId(): string {
  eventIdsCount += 1;
  return run + eventIdsCount.toString(16).padStart(16, '0');
}

export interface JobsWriter extends AsyncDisposable {
  /** Resolves when the store has replied. */
  write(index: number): Promise<void>;
}

export interface WriterOptions {
  readonly jobId: string;
  readonly tasks?: number;
  /** A server accepts 100 concurrent calls on each. */
  readonly connections: number;
}

const CLAIMS_AT_ONCE = 100;

/** Over the remote store, as clients do. Creates the job and claims its tasks. */
export async function openRemoteWriter(
  address: string,
  { jobId, tasks = TASKS, connections }: WriterOptions,
): Promise<JobsWriter> {
  const stores = Array.from({ length: connections }, () => createRemoteJobStore({ address }));
  return {
    write: await openStoreWriter(stores, { jobId, tasks }),
    async [Symbol.asyncDispose]() {
      for (const store of stores) await store.close();
    },
  };
}

/** Stores of the same job, which are used in turn. */
export async function openStoreWriter(
  stores: readonly JobStore[],
  job: { readonly jobId: string; readonly tasks: number },
): Promise<(index: number) => Promise<void>> {
  const writeOf = await claimAll(stores, job);
  return async (index) => {
    await storeAt(stores, index).setState(writeOf(index));
  };
}

/** Creates the job, claims its tasks, and returns the writes of the walk. */
async function claimAll(
  stores: readonly JobStore[],
  { jobId, tasks }: { readonly jobId: string; readonly tasks: number },
): Promise<(index: number) => StateWrite> {
  const spec = { jobId, numTasks: tasks, expectedTags: TAGS };
  const { job } = await storeAt(stores, 0).createJob(spec);
  const epochs = new Uint32Array(tasks);
  await inParallel({ count: tasks, atOnce: CLAIMS_AT_ONCE }, async (taskId) => {
    const lease = await storeAt(stores, taskId).lease(claimOf(job, taskId));
    epochs[taskId] = lease.epoch;
  });
  return (index) => {
    const cell = cellWriteAt(index, tasks);
    return {
      ...cell,
      jobId,
      incarnation: job.incarnation,
      epoch: epochs[cell.taskId] ?? 0,
      schemaVersion: 1,
      eventId: nextEventId(),
    };
  };
}

function storeAt(stores: readonly JobStore[], index: number): JobStore {
  const store = stores[index % stores.length];
  if (store === undefined) throw new Error('a writer needs a store');
  return store;
}

function claimOf({ jobId, incarnation }: JobInfo, taskId: number) {
  const common = { jobId, incarnation, taskId, holder: 'bench' };
  return { ...common, action: 'claim', epoch: 0, ttlMs: 0 } as const;
}

export interface RedisWriterOptions extends WriterOptions {
  /** Which streams a write is added to. Default: that of the job. */
  readonly streams?: (cell: CellWrite) => readonly string[];
}

/** How many changes of a job a store keeps. */
const STREAM_ENTRIES_MAX = 100_000;

export async function openRedisWriter(
  port: number,
  options: RedisWriterOptions,
): Promise<JobsWriter> {
  const { jobId, tasks = TASKS, connections, streams = () => [] } = options;
  const clients = await connectRedis(port, connections);
  return {
    async write(index) {
      const { taskId, tag, ...state } = cellWriteAt(index, tasks);
      const eventId = nextEventId();
      const text = JSON.stringify({ taskId, tag, ...state, version: 1, eventId });
      const transaction = clients[index % connections]?.multi();
      transaction?.hset(jobId, `${taskId}/${tag}`, text);
      for (const stream of [jobId, ...streams({ taskId, tag, ...state })])
        transaction?.xadd(streamName(stream), 'MAXLEN', '~', STREAM_ENTRIES_MAX, '*', 's', text);
      await transaction?.exec();
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.disconnect();
    },
  };
}

export function streamName(of: string): string {
  return `stream:${of}`;
}
