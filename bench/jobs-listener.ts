// A program: subscribers of a job, ours over gRPC or readers of Redis streams. Its argument is a ListenerSetup as
// JSON. All begin at the newest change. Prints `open` when they listen, and a ListenerReport on each SIGUSR2.
//
// A delay is measured from the server's timestamp of a change, taken before it was synced, to the moment at which
// this process receives it. All processes use the clock of the machine.
import type { Cursor, JobEvent } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { Redis } from 'ioredis';
import { DelayCounts } from './delay-counts.js';
import type { ListenerReport, ListenerSetup } from './jobs-listeners.js';
import { newestCursor } from './jobs-newest.js';
import { type ListenedScope, scopesOf } from './jobs-scopes.js';
import { streamName } from './jobs-writers.js';

const OPENED_AT_ONCE = 20;
const REDIS_ENTRIES_MAX = 512;

const { server, jobId, audience, overflow } = JSON.parse(process.argv[2] ?? '') as ListenerSetup;
const delays = new DelayCounts();
let eventsCount = 0;
let gapsCount = 0;
let reportsCount = 0;
/** By subscriber: the revision up to which it has everything. */
const levels: number[] = [];

function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

const store = createRemoteJobStore({
  address: server.kind === 'syncline' ? server.address : 'none:1',
});

let cursor: Promise<Cursor> | undefined;
function newest(): Promise<Cursor> {
  cursor ??= newestCursor(store, jobId);
  return cursor;
}

/** Resolves when the subscriber is live. */
function follow(scope: ListenedScope, index: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const take = (event: JobEvent) => {
      if (event.kind === 'synced') resolve();
      if (event.kind === 'gap') gapsCount += 1;
      if (event.kind === 'synced' || event.kind === 'live') levels[index] = event.revision;
      if (event.kind !== 'change') return;
      const { revision, timestampMs } = event.state;
      if (revision <= (levels[index] ?? 0)) throw new Error(`${revision} came late or twice`);
      levels[index] = revision;
      eventsCount += 1;
      delays.add(nowMs() - timestampMs);
    };
    const read = async () => {
      const options = { scope, after: await newest(), ...(overflow && { overflow }) };
      for await (const events of store.subscribe(jobId, options).batches()) events.forEach(take);
      throw new Error('a subscription has ended');
    };
    read().catch(reject);
  });
}

async function followRedis(port: number, { taskId, tag }: ListenedScope): Promise<void> {
  const key = streamName(tag ?? (taskId === undefined ? jobId : String(taskId)));
  const redis = new Redis(port, '127.0.0.1', { protocol: 2 });
  const [last] = await redis.xrevrange(key, '+', '-', 'COUNT', 1);
  let after = last?.[0] ?? '0-0';
  const read = async () => {
    for (;;) {
      const wanted = ['COUNT', REDIS_ENTRIES_MAX, 'BLOCK', 0, 'STREAMS', key, after] as const;
      const [stream] = (await redis.xread(...wanted)) ?? [];
      for (const [id] of stream?.[1] ?? []) {
        after = id;
        eventsCount += 1;
        delays.add(nowMs() - Number.parseInt(id, 10));
      }
    }
  };
  void read();
}

process.on('SIGUSR2', () => {
  reportsCount += 1;
  const report: ListenerReport = {
    number: reportsCount,
    eventsCount,
    gapsCount,
    lowestRevision: Math.min(...levels),
    p50Ms: delays.quantile(0.5),
    p99Ms: delays.quantile(0.99),
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
});
process.on('SIGHUP', () => {
  eventsCount = 0;
  gapsCount = 0;
  delays.clear();
});

const scopes = scopesOf(audience);
for (let at = 0; at < scopes.length; at += OPENED_AT_ONCE) {
  const group = scopes.slice(at, at + OPENED_AT_ONCE);
  await Promise.all(
    group.map((scope, index) =>
      server.kind === 'redis' ? followRedis(server.port, scope) : follow(scope, at + index),
    ),
  );
}
process.stdout.write('open\n');
