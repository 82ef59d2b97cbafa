// Jobs in PostgreSQL: the adapter for several processes that share a database.
//
// A commit is one transaction that locks the row of its job, so the revisions of a job are totally ordered across
// processes. A view is a read-only transaction with one snapshot; it holds a connection until it is closed.
import { SynclineError } from '@syncline/kernel';
import { checkKnownKeys, invalidArgument } from '@syncline/kernel/checks';
import type { Pool } from 'pg';
import { isContention, noSuchJob } from '../core/refusals.js';
import type { JobFilter, StoredChange } from '../engine/changes.js';
import { type EngineJobStore, type EngineOptions, openJobStore } from '../engine/job-engine.js';
import * as port from '../engine/store-adapter.js';
import { ALL_CAPABILITIES } from '../job-store.js';
import { limitValues } from '../limits.js';
import { type PostgresDeps, PostgresPool, type PostgresSession } from './postgres-client.js';
import * as rows from './postgres-commit.js';
import { migrate } from './postgres-schema.js';
import { PostgresWatch } from './postgres-watch.js';

type Job = port.MirroredJob<number>;

const WRITES = 'READ WRITE';
const READS = 'ISOLATION LEVEL REPEATABLE READ READ ONLY';
/** Number of rows fetched at a time; states can be large. */
const PAGE_ROWS = 250;

class PostgresAdapter implements port.StoreAdapter<number>, port.SharedStore<number> {
  readonly capabilities = ALL_CAPABILITIES;
  readonly shared = this;
  readonly #deps: PostgresDeps;
  readonly #watch: PostgresWatch;

  constructor(deps: PostgresDeps) {
    this.#deps = deps;
    this.#watch = new PostgresWatch(deps);
  }

  async start(host: port.AdapterHost): Promise<port.StoreStart> {
    await this.#deps.pool.transaction(WRITES, migrate);
    await this.#watch.start(host);
    const totals =
      'SELECT count(*) AS "jobsCount", coalesce(sum(log_records), 0)::bigint AS "logRecords" FROM jobs WHERE NOT is_deleted';
    const [found] = await this.#read((session) => session.rows<port.StoreStart>(totals));
    return { jobsCount: 0, logRecords: 0, ...found, generation: 0, heldLeases: [] };
  }

  loadJob(jobId: string): Promise<port.JobRows<number> | undefined> {
    return this.#read(async (session) => {
      const [job] = await rows.findJobs(session, 'job_id = $1', [jobId]);
      return job && rows.loadRows(session, job);
    });
  }

  async commit(requests: readonly port.CommitRequest[], decide: port.Decide<number>) {
    for (let attempt = 1; ; attempt += 1) {
      try {
        for (const request of requests) await this.#commit(request, decide);
        return;
      } catch (thrown) {
        if (!isContention(thrown) || attempt >= limitValues.postgresAttemptsMax) throw thrown;
      }
    }
  }

  #commit(request: port.CommitRequest, decide: port.Decide<number>): Promise<void> {
    return this.#deps.pool.transaction(WRITES, async (session) => {
      const found = await rows.readCommitRows(session, request, this.#watch.floor);
      const commit = decide(found);
      const lost = new Set(commit?.jobs.flatMap(({ tasks }) => [...tasks.keys()]));
      const idle = [...found.overdue].filter((taskId) => !lost.has(taskId));
      // These leases have expired, but have no work left: they are not checked again until their tasks write.
      if (idle.length > 0)
        await session.query(
          `UPDATE tasks SET is_watched = false FROM jobs WHERE jobs.job_no = tasks.job_no
             AND jobs.job_id = $1 AND NOT jobs.is_deleted AND task_id = ANY($2::int[])`,
          [request.jobId, idle],
        );
      if (commit) await rows.writeCommit(session, commit);
    });
  }

  changesAfter(job: Job): Promise<port.Since<number>> {
    return this.#read(async (session) => {
      const [found] = await rows.findJobs(session, 'job_id = $1', [job.row.jobId]);
      return rows.readSince(session, found, job);
    });
  }

  /** Need not survive a database crash, after which every lease gets a full TTL. */
  async renew(job: Job, taskId: number, epoch: number): Promise<boolean> {
    const { rowCount } = await this.#deps.pool.transaction(WRITES, async (session) => {
      await session.query('SET LOCAL synchronous_commit = off');
      return session.query(
        `UPDATE tasks SET renewed_at = clock_timestamp()
         WHERE job_no = $1 AND task_id = $2 AND epoch = $3 AND state = 'held'
           AND EXISTS (SELECT FROM jobs WHERE job_no = $1 AND NOT is_deleted)`,
        [job.handle, taskId, epoch],
      );
    });
    return rowCount === 1;
  }

  overdue(): Promise<readonly port.LeaseRef[]> {
    return this.#watch.overdue();
  }

  async readStates({ handle }: Job, cells: readonly port.CellRef[]) {
    if (cells.length === 0) return [];
    const query = `SELECT ${rows.CHANGE_COLUMNS} FROM changes c WHERE job_no = $1 AND revision = ANY($2)`;
    const revisions = cells.map(({ revision }) => revision);
    const found = await this.#read((session) =>
      session.rows<StoredChange>(query, [handle, revisions]),
    );
    const states = new Map(found.map(({ revision, bytes }) => [revision, bytes]));
    return revisions.map((revision) => states.get(revision));
  }

  async openView(job: Job, filter: JobFilter): Promise<port.StoreView> {
    const { pool } = this.#deps;
    const session = await pool.connect();
    let cursors = 0;
    async function* pages(query: string, after: number): AsyncGenerator<readonly StoredChange[]> {
      cursors += 1;
      const cursor = `pages_${cursors}`;
      const { taskId = null, tag = null } = filter.scope;
      const values = [job.handle, after, taskId, tag, filter.withLeases, filter.withJob];
      await session.query(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${query}`, values);
      for (;;) {
        const page = await session.rows<StoredChange>(`FETCH ${PAGE_ROWS} FROM ${cursor}`);
        if (page.length > 0) yield page;
        if (page.length < PAGE_ROWS) return;
      }
    }
    try {
      await session.begin(READS);
      const [found] = await rows.findJobs(session, 'job_no = $1', [job.handle]);
      if (!found) throw noSuchJob(job.row.jobId);
      return {
        revision: found.head.revision,
        compactedTo: found.head.compactedTo,
        latest: (after) => pages(LATEST, after),
        changes: (after) => pages(CHANGES, after),
        close: () => void pool.rollback(session),
      };
    } catch (thrown) {
      await pool.rollback(session, thrown);
      throw thrown;
    }
  }

  async *listJobs({ prefix, after }: port.JobRange): AsyncGenerator<readonly port.ListedJob[]> {
    let last = after;
    for (;;) {
      const page = `starts_with(job_id, $1) AND job_id > $2 ORDER BY job_id LIMIT ${PAGE_ROWS}`;
      const jobs = await this.#read((session) => rows.findJobs(session, page, [prefix, last]));
      yield jobs;
      const end = jobs.at(-1);
      if (!end || jobs.length < PAGE_ROWS) return;
      last = end.row.jobId;
    }
  }

  async close(): Promise<void> {
    await this.#watch.close();
    await this.#deps.pool.close();
  }

  #read<T>(read: (session: PostgresSession) => Promise<T>): Promise<T> {
    return this.#deps.pool.transaction(READS, read);
  }
}

/** Parameters of both queries of a view: $1 job, $2 after, $3 task, $4 tag, $5 with leases, $6 with metadata. */
const LATEST = `WITH latest AS (
    SELECT revision FROM cells WHERE job_no = $1 AND revision > $2
      AND ($3::int IS NULL OR task_id = $3) AND ($4::text IS NULL OR tag = $4)
    UNION ALL SELECT revision FROM tasks WHERE job_no = $1 AND revision > $2
      AND $5::bool AND ($3::int IS NULL OR task_id = $3)
    UNION ALL SELECT metadata_revision FROM jobs WHERE job_no = $1 AND metadata_revision > $2 AND $6::bool
  )
  SELECT ${rows.CHANGE_COLUMNS} FROM latest JOIN changes c USING (revision) WHERE c.job_no = $1 ORDER BY c.revision`;
const CHANGES = `SELECT ${rows.CHANGE_COLUMNS} FROM changes c WHERE job_no = $1 AND revision > $2 AND CASE kind
    WHEN 'state' THEN ($3::int IS NULL OR task_id = $3) AND ($4::text IS NULL OR tag = $4)
    WHEN 'lease' THEN $5::bool AND ($3::int IS NULL OR task_id = $3)
    ELSE $6::bool END ORDER BY revision`;

// User options, and the factory.

export type PostgresJobStoreOptions = Readonly<{
  /** The schema of the tables, created and migrated by the store and used only by it. Default `syncline_jobs`. */
  schema?: string;
  /** Retention and cache sizes. */
  engine?: Omit<EngineOptions, 'openSnapshotsMax'>;
}> &
  (
    | Readonly<{
        /** `postgresql://user:password@host/database` */ connectionString: string;
        pool?: never;
      }>
    | Readonly<{
        /** Owned by the caller: the store takes connections from it and does not close it. */ pool: Pool;
        connectionString?: never;
      }>
  );

const SCHEMA = /^[a-z_][a-z0-9_]{0,47}$/;
/** In addition to open views: one connection for listening, and one for calls. */
const OTHER_CONNECTIONS = 2;

/** Connects, creates or migrates the tables, and starts to listen. Throws `unavailable` if it cannot connect. */
export async function createPostgresJobStore(
  options: PostgresJobStoreOptions,
  deps: Partial<port.EngineDeps> = {},
): Promise<EngineJobStore> {
  const known = { connectionString: true, pool: true, schema: true, engine: true };
  checkKnownKeys(options, 'options', known);
  const { connectionString, pool: given, schema = 'syncline_jobs', engine = {} } = options;
  if (!SCHEMA.test(schema))
    throw invalidArgument('schema', schema, 'up to 48 lower-case letters, digits and _');
  const source = given ?? connectionString;
  if (source === undefined || source === '')
    throw invalidArgument('connectionString', source, 'a connection string or a pool');
  const pool = new PostgresPool(source, schema);
  const { connectionsMax } = pool;
  const viewsMax = Math.min(limitValues.postgresViewsMax, connectionsMax - OTHER_CONNECTIONS);
  const wanted = `a pool of at least ${OTHER_CONNECTIONS + 1} connections`;
  if (viewsMax <= 0) throw invalidArgument('pool', connectionsMax, wanted);
  const all = port.withSystemDeps(deps);
  const adapter = new PostgresAdapter({ ...all, pool });
  try {
    return await openJobStore(adapter, all, { ...engine, openSnapshotsMax: viewsMax });
  } catch (thrown) {
    await adapter.close();
    throw SynclineError.from(thrown);
  }
}
