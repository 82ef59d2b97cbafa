// How the PostgreSQL store begins and what it says when it cannot: nothing that a connection does ends the process.
import { once, setMaxListeners } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { createSecureContext, TLSSocket } from 'node:tls';
import { createSystemClock, silentLogger } from '@syncline/kernel';
import { makeCertificates, type PostgresServer, startPostgres } from '@syncline/testkit';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createJob, JOB_ID, TaskWriter } from '../conformance/job-samples.js';
import { jobsLimits } from '../limits.js';
import { createPostgresJobStore, type PostgresJobStoreOptions } from './postgres-adapter.js';

let server: PostgresServer;

beforeAll(async () => {
  server = await startPostgres('fsync=off');
});

afterAll(() => server[Symbol.asyncDispose]());

async function refusalOf(options: Partial<PostgresJobStoreOptions>) {
  const connectionString = server.connectionString();
  const given = { ...('pool' in options ? {} : { connectionString }), ...options };
  const store = await createPostgresJobStore(given as PostgresJobStoreOptions).catch(
    (thrown: unknown) => thrown,
  );
  expect(store).toMatchObject({ name: 'SynclineError' });
  return store as { readonly code: string; readonly details: Readonly<Record<string, unknown>> };
}

/** One statement on a connection of its own. */
async function ask(statement: string, { connectionString } = server) {
  const pool = new pg.Pool({ connectionString: connectionString(), max: 1 });
  const { rows } = await pool.query<Record<string, string>>(statement);
  await pool.end();
  return rows;
}

test('an invalid option is refused by name', async () => {
  const small = new pg.Pool({ connectionString: server.connectionString(), max: 2 });
  expect((await refusalOf({ schema: 'Jobs; DROP' })).details).toMatchObject({ field: 'schema' });
  expect((await refusalOf({ connectionString: '' })).details['field']).toBe('connectionString');
  expect((await refusalOf({ pool: small })).details).toMatchObject({ field: 'pool' });
  const misspelt = { shema: 'jobs' } as Partial<PostgresJobStoreOptions>;
  expect((await refusalOf(misspelt)).details).toMatchObject({ field: 'shema' });
  await small.end();
});

test('a missing database and a refused login have different errors', async () => {
  const nowhere = 'postgresql://postgres@127.0.0.1:1/postgres';
  expect((await refusalOf({ connectionString: nowhere })).code).toBe('unavailable');
  const other = server.connectionString().replace(/postgres$/, 'none');
  expect((await refusalOf({ connectionString: other })).code).toBe('unauthenticated');
});

test('a certificate that is not trusted is refused with what to set', async () => {
  await using certificates = await makeCertificates();
  const context = createSecureContext({ ...certificates.server });
  // It accepts TLS, as PostgreSQL does after the first message of a client, and nothing more.
  const fake = createServer((socket) => {
    socket
      .on('error', () => {})
      .once('data', () => {
        socket.write('S');
        new TLSSocket(socket, { isServer: true, secureContext: context }).on('error', () => {});
      });
  });
  await once(fake.listen(0, '127.0.0.1'), 'listening');
  const { port } = fake.address() as AddressInfo;
  const connectionString = `postgresql://postgres@127.0.0.1:${port}/postgres?sslmode=verify-full`;
  const refusal = await refusalOf({ connectionString });
  fake.close();
  expect(refusal).toMatchObject({
    code: 'unauthenticated',
    message: expect.stringMatching(/^PostgreSQL is unreachable: its certificate .*Set sslrootcert/),
  });
});

test('tables of a later release are left alone', async () => {
  const connectionString = server.connectionString();
  const schema = 'later';
  await (await createPostgresJobStore({ connectionString, schema })).close();
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query('UPDATE later.version SET version = 99');
  await client.end();
  expect(await refusalOf({ schema })).toMatchObject({
    code: 'too-new',
    details: { found: 99, known: 1 },
  });
});

test('many stores that start at once create the tables once', async () => {
  const connectionString = server.connectionString();
  const open = () => createPostgresJobStore({ connectionString, schema: 'at_once' });
  const stores = await Promise.all(Array.from({ length: 6 }, open));
  const created = await Promise.all(
    stores.map((store) => store.createJob({ jobId: 'one', numTasks: 1 })),
  );
  expect(created.filter((one) => one.created)).toHaveLength(1);
  expect(new Set(created.map(({ job }) => job.incarnation)).size).toBe(1);
  await Promise.all(stores.map((store) => store.close()));
});

test('a pool of the caller is used, and left open', async () => {
  const pool = new pg.Pool({ connectionString: server.connectionString(), max: 4 });
  const store = await createPostgresJobStore({ pool, schema: 'given_pool' });
  await store.createJob({ jobId: 'here', numTasks: 1 });
  await store.close();
  const { rows } = await pool.query('SELECT job_id FROM given_pool.jobs');
  expect(rows).toEqual([{ job_id: 'here' }]);
  await pool.end();
});

test('the rows of a deleted job go away', async () => {
  const pool = new pg.Pool({ connectionString: server.connectionString(), max: 4 });
  const store = await createPostgresJobStore({ pool, schema: 'swept' });
  await store.createJob({ jobId: 'gone', numTasks: 1 });
  await store.deleteJob('gone');
  expect(await store.getJob('gone')).toBeUndefined();
  const count = async () => {
    const { rows } = await pool.query(
      'SELECT (SELECT count(*) FROM swept.jobs) + (SELECT count(*) FROM swept.changes) AS left',
    );
    return Number((rows as { left: string }[])[0]?.left);
  };
  await expect.poll(count, { timeout: 60_000 }).toBe(0);
  await store.close();
  await pool.end();
});

test('J3 J6 no revision is reused after a crash, whatever durability the database and the writer prefer', async () => {
  const careless = ['synchronous_commit=off', 'wal_writer_delay=10000', 'fsync=off'];
  await using other = await startPostgres(...careless);
  const connectionString = other.connectionString();
  const revisionsOf = async () => {
    await using store = await createPostgresJobStore({ connectionString });
    const writer = await TaskWriter.claim(store, await createJob(store));
    const { revision } = await writer.set('ingest', 1, { durability: 'buffered' });
    return { revision, head: (await store.getJob(JOB_ID))?.revision };
  };
  const before = await revisionsOf();
  await other.kill();
  await other.start();
  const after = await revisionsOf();
  expect(before.head).toBe(before.revision);
  expect(after.revision).toBe(before.revision + 2); // the claim takes one
});

test('subscribers are notified when the listening connection is lost, not at the next poll', async () => {
  const system = createSystemClock();
  // There is no next poll.
  const sleep = (ms: number, signal?: AbortSignal) =>
    system.sleep(ms === jobsLimits.postgresPollMs.value ? Number.POSITIVE_INFINITY : ms, signal);
  const options = { connectionString: server.connectionString(), schema: 'lost' };
  await using store = await createPostgresJobStore(options, { clock: { ...system, sleep } });
  await createJob(store);
  const seen: string[] = [];
  for await (const { kind } of store.subscribe(JOB_ID, { scope: {} })) {
    seen.push(kind);
    if (kind === 'live') break;
    if (kind !== 'synced') continue;
    const pool = new pg.Pool({ connectionString: server.connectionString(), max: 1 });
    await pool.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'syncline jobs'",
    );
    await pool.end();
  }
  expect(seen.filter((kind, at) => kind !== seen[at - 1])).toEqual(['synced', 'stale', 'live']);
});

test('a replica is unavailable until it is promoted', async () => {
  await using other = await startPostgres();
  const connectionString = other.connectionString();
  await using store = await createPostgresJobStore({ connectionString });
  const writer = await TaskWriter.claim(store, await createJob(store));
  const [{ data_directory: directory = '' } = {}] = await ask('SHOW data_directory', other);
  await other.kill();
  await writeFile(join(directory, 'standby.signal'), '');
  await other.start();
  const refused = { code: 'unavailable', outcome: 'not-applied', retryable: true };
  const message = expect.stringMatching(/replica.*during recovery.*connect to the primary/);
  await expect(writer.set('ingest', 1)).rejects.toMatchObject({ ...refused, message });
  await ask('SELECT pg_promote()', other);
  expect(await writer.set('ingest', 1)).toMatchObject({ status: 1, version: 1 });
});

test('missing tables are named in the log, once, and no subscriber turns live', async () => {
  const options = { connectionString: server.connectionString(), schema: 'dropped' };
  const warnings: Readonly<Record<string, unknown>>[] = [];
  const logger = { ...silentLogger, warn: (_: string, fields = {}) => void warnings.push(fields) };
  await using store = await createPostgresJobStore(options, { logger });
  await createJob(store);
  const attempts: number[] = [];
  for await (const event of store.subscribe(JOB_ID, { scope: {} })) {
    if (event.kind === 'synced') await ask('DROP SCHEMA dropped CASCADE');
    expect(event.kind).not.toBe('live');
    if (event.kind === 'stale') attempts.push(event.attempt);
    if (attempts.length === 4) break;
  }
  expect(attempts).toEqual([1, 2, 3, 4]);
  const reasons = warnings.flatMap(({ reason }) => reason ?? []);
  expect(reasons).toEqual([expect.stringContaining('lost the tables of the store')]);
  await expect(createJob(store, { jobId: 'other' })).rejects.toMatchObject({
    code: 'storage-failed',
    message: expect.stringMatching(
      /lost the tables of the store: relation "jobs".*Restore a backup/,
    ),
  });
});

test('jobs with subscribers stay in memory, so no more of them are followed than the cache can hold', async () => {
  const connectionString = server.connectionString();
  const options = { connectionString, schema: 'followed', engine: { cacheBytesMax: 20_000 } };
  await using store = await createPostgresJobStore(options);
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const follow = async (jobId: string) => {
    const events = store.subscribe(jobId, { scope: {}, signal: stop.signal });
    return (await events[Symbol.asyncIterator]().next()).value?.kind;
  };
  const jobIds = Array.from({ length: 20 }, (_, index) => `job-${index}`);
  for (const jobId of jobIds) await createJob(store, { jobId });
  const followed: (string | undefined)[] = [];
  for (const jobId of jobIds)
    followed.push(await follow(jobId).catch(({ details }) => details.limit));
  const refusals = followed.filter((result) => result !== 'synced');
  expect(new Set(refusals)).toEqual(new Set(['cacheBytesMax']));
  expect(followed.length - refusals.length).toBe(store.status().subscribers);
  expect(await follow('job-0')).toBe('synced');
  expect(store.status().cacheBytes).toBeLessThanOrEqual(20_000);
  stop.abort();
  expect(await follow('job-19')).toBe(undefined);
});

test('changes kept for slow readers give way to further followed jobs', async () => {
  const connectionString = server.connectionString();
  const options = { connectionString, schema: 'rings', engine: { cacheBytesMax: 200_000 } };
  await using store = await createPostgresJobStore(options);
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  for (let index = 0; index < 20; index += 1) {
    const jobId = `job-${index}`;
    const writer = await TaskWriter.claim(store, await createJob(store, { jobId }));
    const events = store.subscribe(jobId, { scope: {}, signal: stop.signal });
    expect((await events[Symbol.asyncIterator]().next()).value?.kind).toBe('synced');
    for (let status = 1; status <= 12; status += 1)
      await writer.set('a', status, { message: 'm'.repeat(1_000) });
  }
  expect(store.status().subscribers).toBe(20);
  expect(store.status().cacheBytes).toBeLessThanOrEqual(200_000);
  stop.abort();
});

/** A pool whose queries pass `gate` first. */
function gatedPool(gate: (text: string) => void | Promise<void>): pg.Pool {
  const pool = new pg.Pool({ connectionString: server.connectionString(), max: 4 });
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (asked: { text: string }) => Promise<unknown>;
    const gated = async (asked: { text: string }) => {
      await gate(asked.text);
      return query(asked);
    };
    Object.assign(client, { query: gated });
  });
  return pool;
}

test('a read sees what was committed before it, also if another read is loading the job', async () => {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let loads = 0;
  const pool = gatedPool((text) => {
    if (!text.startsWith('SELECT task_id AS "taskId", epoch')) return undefined;
    loads += 1;
    return loads === 1 ? released : undefined; // its snapshot is taken already
  });
  const connectionString = server.connectionString();
  await using writing = await createPostgresJobStore({ connectionString, schema: 'loading' });
  const reading = await createPostgresJobStore({ pool, schema: 'loading' });
  const writer = await TaskWriter.claim(writing, await createJob(writing));
  const first = reading.getState(JOB_ID, 0, 'ingest');
  await expect.poll(() => loads).toBe(1);
  await writer.set('ingest', 7);
  const second = reading.getState(JOB_ID, 0, 'ingest');
  release();
  await first;
  expect(await second).toMatchObject({ status: 7 });
  await reading.close();
  await pool.end();
});

test('while polls fail, connecting again is tried less and less often, and logged once', async () => {
  let isBroken = false;
  const pool = gatedPool((text) => {
    if (isBroken && text.includes('job_id = ANY($1)')) throw new Error('refused');
  });
  const logger = { ...silentLogger, warn: vi.fn(), info: vi.fn() };
  const store = await createPostgresJobStore({ pool, schema: 'refused' }, { logger });
  await createJob(store);
  const attempts: number[] = [];
  const stop = new AbortController();
  const following = (async () => {
    for await (const event of store.subscribe(JOB_ID, { scope: {}, signal: stop.signal })) {
      if (event.kind === 'stale') attempts.push(event.attempt);
      isBroken = attempts.length < 3;
      if (event.kind === 'live' && !isBroken) stop.abort();
    }
  })();
  await following;
  expect(attempts).toEqual([1, 2, 3]);
  await expect.poll(() => logger.info.mock.calls).toEqual([['PostgreSQL reachable again']]);
  expect(logger.warn).toHaveBeenCalledTimes(1);
  await store.close();
  await pool.end();
});
