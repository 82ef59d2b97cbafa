// One commit to PostgreSQL: reads the rows that a decision needs while holding the job's lock, and writes the result.
import type { CellRow, JobRow } from '../core/rows.js';
import { CellCounts, cellName } from '../engine/cell-counts.js';
import type { StoredChange } from '../engine/changes.js';
import type * as port from '../engine/store-adapter.js';
import { contentionError, type PostgresSession } from './postgres-client.js';
import { OVERDUE } from './postgres-watch.js';

/** The columns of a StoredChange, from `changes c`. */
export const CHANGE_COLUMNS =
  'c.revision, c.kind, c.task_id AS "taskId", c.tag, c.timestamp_ms AS "timestampMs", c.message AS bytes';

export type StoredJob = Pick<port.JobRows<number>, 'row' | 'head' | 'handle'>;

type JobColumns = port.JobHead & {
  readonly handle: number;
  readonly metadata: Omit<JobRow, 'metadataRevision'>;
  readonly metadataRevision: number;
};

/** `condition` follows `WHERE NOT is_deleted AND`. */
export async function findJobs(
  session: PostgresSession,
  condition: string,
  values: readonly unknown[],
): Promise<readonly StoredJob[]> {
  const found = await session.rows<JobColumns>(
    `SELECT job_no AS handle, metadata, metadata_revision AS "metadataRevision", revision, timestamp_ms AS "timestampMs",
       compacted_to AS "compactedTo", log_records AS "logRecords", counts FROM jobs WHERE NOT is_deleted AND ${condition}`,
    values,
  );
  return found.map(({ handle, metadata, metadataRevision, ...head }) => ({
    handle,
    row: { ...metadata, metadataRevision },
    head: { ...head, counts: Object.assign(new CellCounts(0), head.counts) },
  }));
}

export async function loadRows(
  session: PostgresSession,
  job: StoredJob,
): Promise<port.JobRows<number>> {
  const tasks =
    'SELECT task_id AS "taskId", epoch, state, ttl_ms AS "ttlMs", holder, revision FROM tasks WHERE job_no = $1';
  const cells =
    'SELECT task_id AS "taskId", tag, version, revision, status, progress FROM cells WHERE job_no = $1';
  return {
    ...job,
    tasks: await session.rows(tasks, [job.handle]),
    cells: await session.rows(cells, [job.handle]),
  };
}

export async function readSince(
  session: PostgresSession,
  job: StoredJob | undefined,
  known: port.MirroredJob | undefined,
): Promise<port.Since<number>> {
  if (!job) return { kind: 'rows', rows: undefined };
  const { compactedTo, logRecords, revision } = job.head;
  const after = known?.head.revision ?? 0;
  const isSame = known?.row.incarnation === job.row.incarnation;
  const hasAll = isSame && after <= revision && (after === revision || after >= compactedTo);
  if (!hasAll) return { kind: 'rows', rows: await loadRows(session, job) };
  const query = `SELECT ${CHANGE_COLUMNS} FROM changes c WHERE job_no = $1 AND revision > $2 ORDER BY revision`;
  const changes =
    after === revision ? [] : await session.rows<StoredChange>(query, [job.handle, after]);
  return { kind: 'changes', changes, compactedTo, logRecords };
}

/** Locks the job and reads its rows, and which of the requested leases are overdue. */
export async function readCommitRows(
  session: PostgresSession,
  { jobId, known, cells: wanted, overdue: asked }: port.CommitRequest,
  floor: string | undefined,
): Promise<port.CommitRows<number> & { readonly overdue: ReadonlySet<number> }> {
  const [job] = await findJobs(session, 'job_id = $1 FOR UPDATE', [jobId]);
  const cells = new Map<string, CellRow & { readonly message: Uint8Array | null }>();
  const overdue = new Set<number>();
  let jobsCount = 0;
  if (!job) {
    const count = 'SELECT count(*) AS count FROM jobs WHERE NOT is_deleted';
    jobsCount = (await session.rows<{ count: number }>(count))[0]?.count ?? 0;
  } else if (wanted.length > 0) {
    const found = await session.rows<CellRow & port.CellPlace & { message: Uint8Array | null }>(
      `SELECT k.task_id AS "taskId", k.tag, version, k.revision, status, progress, recent, c.message
       FROM unnest($2::int[], $3::text[], $4::bool[]) w (task_id, tag, with_state)
       JOIN cells k ON k.job_no = $1 AND k.task_id = w.task_id AND k.tag = w.tag
       LEFT JOIN changes c ON w.with_state AND c.job_no = k.job_no AND c.revision = k.revision`,
      [
        job.handle,
        wanted.map(({ taskId }) => taskId),
        wanted.map(({ tag }) => tag),
        wanted.map(({ withState }) => withState),
      ],
    );
    for (const { taskId, tag, ...cell } of found) cells.set(cellName(taskId, tag), cell);
  }
  if (job && asked.length > 0 && floor !== undefined) {
    const found = await session.rows<{ task_id: number }>(
      `SELECT task_id FROM tasks t WHERE job_no = $2 AND task_id = ANY($3::int[]) AND ${OVERDUE} FOR UPDATE`,
      [floor, job.handle, asked],
    );
    for (const { task_id } of found) overdue.add(task_id);
  }
  return {
    jobsCount,
    since: await readSince(session, job, known),
    cell: (_, taskId, tag) => cells.get(cellName(taskId, tag)),
    state: (_, taskId, tag) => cells.get(cellName(taskId, tag))?.message ?? new Uint8Array(),
    isOverdue: (taskId) => overdue.has(taskId),
    overdue,
  };
}

export async function writeCommit(
  session: PostgresSession,
  { jobs }: port.Commit<number>,
): Promise<void> {
  const { schema: channel } = session;
  for (const job of jobs) {
    const { jobId } = job.row;
    if (job.kind === 'delete') {
      await session.query('UPDATE jobs SET is_deleted = true WHERE job_no = $1', [job.handle]);
      await session.rows('SELECT pg_notify($1, $2)', [channel, jobId]);
      continue;
    }
    if (job.kind === 'create') {
      const [inserted] = await session.rows<{ job_no: number }>(
        `INSERT INTO jobs (job_id, metadata, metadata_revision, revision, timestamp_ms, compacted_to, log_records, counts)
         VALUES ($1, '{}', 0, 0, 0, 0, 0, '{}')
         ON CONFLICT (job_id) WHERE NOT is_deleted DO NOTHING RETURNING job_no`,
        [jobId],
      );
      if (!inserted) throw contentionError(); // by another creator
      job.handle = inserted.job_no; // the statement that follows sets the rest
    } else if (job.isRowChanged) {
      // The expected tags may have changed: tasks that had no work left may have some now.
      await session.query('UPDATE tasks SET is_watched = true WHERE job_no = $1', [job.handle]);
    }
    await session.rows(...writeOf(job, channel));
  }
}

const CHANGE_FIELDS = ['revision', 'kind', 'taskId', 'tag', 'timestampMs', 'bytes'] as const;

/** Writes all rows of a job in one statement: each extra one would cost a round trip while the job is locked. */
function writeOf(job: port.JobCommit<number>, channel: string): [string, readonly unknown[]] {
  const { handle = 0, head, tasks, cells, changes, removed } = job;
  const values: unknown[] = [handle];
  const parts: string[] = [];
  /** `?` stands for the next value. */
  const part = (sql: string, given: readonly unknown[]) => {
    let at = values.push(...given) - given.length;
    const text = sql.replaceAll('?', () => {
      at += 1;
      return `$${at}`;
    });
    parts.push(`part_${parts.length} AS (${text})`);
  };
  const { metadataRevision, ...metadata } = job.row;
  part(
    `UPDATE jobs SET metadata = ?, metadata_revision = ?, revision = ?, timestamp_ms = ?, compacted_to = ?,
       log_records = ?, counts = ? WHERE job_no = $1`,
    [
      JSON.stringify(metadata),
      metadataRevision,
      head.revision,
      head.timestampMs,
      head.compactedTo,
      head.logRecords,
      JSON.stringify(head.counts),
    ],
  );
  if (tasks.size > 0)
    part(
      `INSERT INTO tasks SELECT $1, t.*, clock_timestamp(), true FROM json_to_recordset(?)
         t ("taskId" int, epoch bigint, state text, "ttlMs" int, holder text, revision bigint)
       ON CONFLICT (job_no, task_id) DO UPDATE SET epoch = excluded.epoch, state = excluded.state,
         ttl_ms = excluded.ttl_ms, holder = excluded.holder, revision = excluded.revision,
         renewed_at = excluded.renewed_at, is_watched = true`,
      [JSON.stringify([...tasks.values()])],
    );
  if (cells.size > 0)
    part(
      `INSERT INTO cells SELECT $1, k.* FROM json_to_recordset(?) k ("taskId" int, tag text, version bigint,
         revision bigint, status int, progress float8, recent json)
       ON CONFLICT (job_no, task_id, tag) DO UPDATE SET version = excluded.version,
         revision = excluded.revision, status = excluded.status, progress = excluded.progress,
         recent = excluded.recent`,
      [JSON.stringify(Array.from(cells.values(), ({ row, ...key }) => ({ ...key, ...row })))],
    );
  if (changes.length > 0)
    part(
      `INSERT INTO changes SELECT $1, *
       FROM unnest(?::bigint[], ?::text[], ?::int[], ?::text[], ?::bigint[], ?::bytea[])`,
      CHANGE_FIELDS.map((field) => changes.map((change) => change[field])),
    );
  if (removed.length > 0)
    part('DELETE FROM changes WHERE job_no = $1 AND revision = ANY(?)', [
      removed.map(({ revision }) => revision),
    ]);
  const renewed = [...job.writers].filter((taskId) => !tasks.has(taskId));
  if (renewed.length > 0)
    part(
      `UPDATE tasks SET renewed_at = clock_timestamp(), is_watched = true
       WHERE job_no = $1 AND task_id = ANY(?::int[])`,
      [renewed],
    );
  const notify = `SELECT pg_notify($${values.push(channel)}, $${values.push(`${job.row.jobId} ${head.revision}`)})`;
  return [`WITH ${parts.join(', ')} ${notify}`, values];
}
