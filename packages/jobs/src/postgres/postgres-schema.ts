// The tables of the PostgreSQL store, described in SPEC.md, and their creation.
//
// The rows of a deleted job stay, with `is_deleted` set, until they are swept: the time that a deletion takes must not
// depend on the size of the job. Strings are compared by bytes, as everywhere.
import { SynclineError } from '@syncline/kernel';
import type { PostgresSession } from './postgres-client.js';

const VERSION = 1;

const TABLES = `
  CREATE TABLE IF NOT EXISTS jobs (
    job_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id text COLLATE "C" NOT NULL,
    is_deleted boolean NOT NULL DEFAULT false,
    metadata json NOT NULL,
    metadata_revision bigint NOT NULL,
    revision bigint NOT NULL,
    timestamp_ms bigint NOT NULL,
    compacted_to bigint NOT NULL,
    log_records bigint NOT NULL,
    counts json NOT NULL
  ) WITH (fillfactor = 50);
  CREATE UNIQUE INDEX IF NOT EXISTS jobs_by_id ON jobs (job_id) WHERE NOT is_deleted;
  CREATE INDEX IF NOT EXISTS jobs_to_sweep ON jobs (job_no) WHERE is_deleted;
  CREATE TABLE IF NOT EXISTS tasks (
    job_no bigint NOT NULL,
    task_id integer NOT NULL,
    epoch bigint NOT NULL,
    state text NOT NULL,
    ttl_ms integer NOT NULL,
    holder text NOT NULL,
    revision bigint NOT NULL,
    renewed_at timestamptz NOT NULL,
    is_watched boolean NOT NULL,
    PRIMARY KEY (job_no, task_id)
  ) WITH (fillfactor = 70);
  CREATE INDEX IF NOT EXISTS tasks_to_watch ON tasks (job_no)
    WHERE is_watched AND state = 'held' AND ttl_ms > 0;
  CREATE TABLE IF NOT EXISTS cells (
    job_no bigint NOT NULL,
    task_id integer NOT NULL,
    tag text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    revision bigint NOT NULL,
    status integer NOT NULL,
    progress double precision NOT NULL,
    recent json NOT NULL,
    PRIMARY KEY (job_no, task_id, tag)
  ) WITH (fillfactor = 70);
  CREATE TABLE IF NOT EXISTS changes (
    job_no bigint NOT NULL,
    revision bigint NOT NULL,
    kind text NOT NULL,
    task_id integer NOT NULL,
    tag text COLLATE "C" NOT NULL,
    timestamp_ms bigint NOT NULL,
    message bytea NOT NULL,
    PRIMARY KEY (job_no, revision)
  );
`;

/** Runs in one process at a time. Throws `too-new` for tables of a later release. */
export async function migrate(session: PostgresSession): Promise<void> {
  const { schema } = session;
  await session.rows(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, [
    `syncline migrates ${schema}`,
  ]);
  await session.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"; SET LOCAL search_path TO "${schema}";
    CREATE TABLE IF NOT EXISTS version (version integer NOT NULL)`);
  const [found] = await session.rows<{ version: number }>('SELECT version FROM version');
  if (found && found.version > VERSION) {
    const message = `the tables in schema "${schema}" have version ${found.version}, but this release reads up to ${VERSION}. Upgrade this program.`;
    const details = { found: found.version, known: VERSION };
    throw new SynclineError('too-new', message, { details });
  }
  if (found) return;
  await session.query(TABLES);
  await session.rows('INSERT INTO version VALUES ($1)', [VERSION]);
}
