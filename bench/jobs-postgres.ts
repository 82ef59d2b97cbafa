// Jobs in PostgreSQL: 50 clients of one job, with one synced write in flight each, compared with as many connections
// that each insert one bare row and commit.
import { createJobManager } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { startCluster, startPostgres } from '@syncline/testkit';
import pg from 'pg';
import type { AnyBench } from './bench.js';
import { inParallel } from './jobs-cells.js';
import { defineBench } from './measure.js';

const CLIENTS = 50;
const TURNS = 40;

interface Subject {
  /** Resolves when the client has its reply. */
  write(client: number, turn: number): Promise<unknown>;
}

async function openServer(): Promise<Subject & AsyncDisposable> {
  const database = await startPostgres();
  const cluster = await startCluster({
    nodes: 1,
    env: {
      SYNCLINE_JOBS_STORE: 'postgres',
      SYNCLINE_JOBS_POSTGRES_URL: database.connectionString(),
    },
  });
  const address = cluster.node(1).url('grpc');
  const opened = await Promise.all(
    Array.from({ length: CLIENTS }, async (_, taskIndex) => {
      const store = createRemoteJobStore({ address });
      const target = { store, jobId: 'bench', taskIndex, numTasks: CLIENTS };
      return { store, manager: await createJobManager(target) };
    }),
  );
  return {
    write: async (client, turn) =>
      opened[client]?.manager.setState({
        tag: 'ingest',
        status: 1 + turn,
        message: `step ${turn}`,
      }),
    async [Symbol.asyncDispose]() {
      for (const { manager, store } of opened) {
        await manager.close();
        await store.close();
      }
      await cluster[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

async function openRows(): Promise<Subject & AsyncDisposable> {
  const database = await startPostgres();
  const pool = new pg.Pool({ connectionString: database.connectionString(), max: CLIENTS });
  await pool.query('CREATE TABLE log (task integer, tag text, status integer, message text)');
  return {
    write: (client, turn) =>
      pool.query('INSERT INTO log VALUES ($1, $2, $3, $4)', [
        client,
        'ingest',
        1 + turn,
        `step ${turn}`,
      ]),
    async [Symbol.asyncDispose]() {
      await pool.end();
      await database[Symbol.asyncDispose]();
    },
  };
}

export const jobsPostgresBenches: readonly AnyBench[] = [
  defineBench<Subject>({
    name: 'jobs-writes-postgres',
    unit: 'writes/s',
    about: `states acknowledged as synced in PostgreSQL, from ${CLIENTS} clients of one job with one write in flight each`,
    contestants: [
      { name: 'syncline serve', open: openServer },
      { name: 'bare rows', open: openRows },
    ],
    async run(subject, round) {
      await inParallel({ count: CLIENTS, atOnce: CLIENTS }, async (client) => {
        for (let turn = 0; turn < TURNS; turn += 1)
          await subject.write(client, round * TURNS + turn);
      });
      return CLIENTS * TURNS;
    },
  }),
];
