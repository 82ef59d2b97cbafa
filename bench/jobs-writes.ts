// Jobs: writes that are acknowledged as synced, from 1 client, from 50, and a whole job at once; compared with Redis
// with a stream of changes and a hash of the latest states, synced before it replies.
import { createJobManager, type JobManager } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import type { AnyBench, Contestant } from './bench.js';
import { redisVersion } from './fair-redis-peer.js';
import { CELLS, inParallel, TAGS, TASKS } from './jobs-cells.js';
import { startJobsServer, startSyncedRedis } from './jobs-servers.js';
import { type JobsWriter, openRedisWriter, openRemoteWriter } from './jobs-writers.js';
import { defineBench } from './measure.js';

interface ClientsSubject {
  /** Resolves when the client has its reply. */
  write(client: number, turn: number): Promise<unknown>;
}

/** Each client is a task with its own connection, like a process of a job. */
function managersContestant(clients: number): Contestant<ClientsSubject> {
  return {
    name: 'syncline serve',
    async open() {
      const server = await startJobsServer();
      const opened = await Promise.all(
        Array.from({ length: clients }, (_, client) => openClient(server.address, client, clients)),
      );
      return {
        async write(client, turn) {
          const tag = TAGS[turn % TAGS.length] ?? '';
          await opened[client]?.manager.setState({
            tag,
            status: 1 + turn,
            message: `step ${turn}`,
          });
        },
        async [Symbol.asyncDispose]() {
          for (const { manager, store } of opened) {
            await manager.close();
            await store.close();
          }
          await server[Symbol.asyncDispose]();
        },
      };
    },
  };
}

async function openClient(address: string, taskIndex: number, numTasks: number) {
  const store = createRemoteJobStore({ address });
  const target = { store, jobId: 'bench', taskIndex, numTasks };
  const manager: JobManager = await createJobManager(target);
  return { store, manager };
}

function redisClientsContestant(clients: number): Contestant<ClientsSubject> {
  return {
    ...redis,
    async open() {
      const server = await startSyncedRedis();
      const writers = await Promise.all(
        Array.from({ length: clients }, () =>
          openRedisWriter(server.port, { jobId: 'bench', tasks: clients, connections: 1 }),
        ),
      );
      return {
        write: async (client, turn) => writers[client]?.write(turn * clients + client),
        async [Symbol.asyncDispose]() {
          for (const writer of writers) await writer[Symbol.asyncDispose]();
          await server[Symbol.asyncDispose]();
        },
      };
    },
  };
}

const redis = {
  name: 'Redis Streams',
  ...(redisVersion !== undefined && { version: redisVersion }),
};

function clientsBench(clients: number, turns: number): AnyBench {
  return defineBench<ClientsSubject>({
    name: `jobs-writes-${clients}`,
    unit: 'writes/s',
    about: `states acknowledged as synced, from ${clients} client${clients === 1 ? '' : 's'} with one write in flight each`,
    contestants: [managersContestant(clients), redisClientsContestant(clients)],
    async run(subject, round) {
      await inParallel({ count: clients, atOnce: clients }, async (client) => {
        for (let turn = 0; turn < turns; turn += 1)
          await subject.write(client, round * turns + turn);
      });
      return clients * turns;
    },
  });
}

interface FillSubject {
  /** An empty job, ready for writes. */
  openJob(jobId: string): Promise<JobsWriter>;
}

const FILL_CONNECTIONS = 8;
const FILL_AT_ONCE = 200;

const fillBench = defineBench<FillSubject>({
  name: 'jobs-fill',
  unit: 's',
  better: 'less',
  about: `a job of ${TASKS} tasks with ${TAGS.length} tags: ${CELLS} first states, ${FILL_AT_ONCE} in flight on ${FILL_CONNECTIONS} connections`,
  isLong: true,
  contestants: [
    {
      name: 'syncline serve',
      async open() {
        const server = await startJobsServer();
        return {
          openJob: (jobId) =>
            openRemoteWriter(server.address, { jobId, connections: FILL_CONNECTIONS }),
          [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
        };
      },
    },
    {
      ...redis,
      async open() {
        const server = await startSyncedRedis();
        return {
          openJob: (jobId) =>
            openRedisWriter(server.port, { jobId, connections: FILL_CONNECTIONS }),
          [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
        };
      },
    },
  ],
  async run({ openJob }, round) {
    await using writer = await openJob(`fill-${round}`);
    const startMs = performance.now();
    await inParallel({ count: CELLS, atOnce: FILL_AT_ONCE }, (index) => writer.write(index));
    return (performance.now() - startMs) / 1_000;
  },
});

/** Enough turns that both sides run compiled code: the first thousand writes take twice as long as later ones. */
export const jobsWriteBenches: readonly AnyBench[] = [
  clientsBench(1, 2_000),
  clientsBench(50, 400),
  fillBench,
];
