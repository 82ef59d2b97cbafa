// A store's listening connection: it receives notifications of commits by other processes, polls each second for missed
// ones, and reports when the database is unreachable.
//
// The process whose connection holds the advisory lock also watches leases and sweeps rows of deleted jobs. Leases
// expire by the database's clock. A process that has just started to watch, was paused, or sees that clock jump gives
// every lease a full TTL: a pause must not expire leases.
//
// J18  A lease is lost between ttl and ttl + 1 s after its last renewal.
import { backoffMs, SynclineError } from '@syncline/kernel';
import type { AdapterHost, LeaseRef } from '../engine/store-adapter.js';
import { limitValues } from '../limits.js';
import type { PostgresDeps, PostgresSession } from './postgres-client.js';

export const OVERDUE = `t.is_watched AND t.state = 'held' AND t.ttl_ms > 0
  AND greatest(t.renewed_at, $1::timestamptz) + t.ttl_ms * interval '1 ms' <= clock_timestamp()`;

const RECONNECT = { initialMs: 100, maxMs: 2_000, jitter: 'half' } as const;
/** If two checks of the leases are further apart, or the clocks drift by more, no lease is declared lost. */
const PAUSE_MS = 1_500;
const SWEPT_ROWS = 5_000;

export class PostgresWatch {
  readonly #deps: PostgresDeps;
  readonly #stop = new AbortController();
  #session: PostgresSession | undefined;
  /** Fires when the session has ended: subscribers are notified at once, not after the next poll. */
  #lost = this.#stop.signal;
  #isWatching = false;
  #running: Promise<void> | undefined;
  /** No lease counts as renewed before this time, by the database's clock. Undefined if nothing is watched. */
  floor: string | undefined;
  #lastCheck = { databaseMs: 0, monotonicMs: 0 };

  constructor(deps: PostgresDeps) {
    this.#deps = deps;
  }

  /** Throws if the database is unreachable now. A later outage is only reported to the host. */
  async start(host: AdapterHost): Promise<void> {
    this.#session = await this.#listen(host);
    this.#running = this.#run(host);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Expired leases; none if another process watches them. */
  async overdue(): Promise<readonly LeaseRef[]> {
    if (!this.#session || !this.#isWatching) return [];
    const [found] = await this.#session.rows<{
      now_ms: number;
      now: string;
      leases: readonly LeaseRef[];
    }>(
      `SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms, clock_timestamp()::text AS now,
         coalesce((SELECT json_agg(l) FROM (SELECT j.job_id AS "jobId", j.metadata->>'incarnation' AS incarnation,
           t.task_id AS "taskId", t.epoch FROM tasks t JOIN jobs j USING (job_no)
           WHERE ${OVERDUE} AND NOT j.is_deleted LIMIT $2) l), '[]') AS leases`,
      [this.floor ?? 'infinity', limitValues.commitWritesMax],
    );
    if (!found || !this.#isSteady(found.now_ms)) {
      this.floor = found?.now;
      return [];
    }
    return found.leases;
  }

  /** Whether both clocks have advanced alike since the last check. */
  #isSteady(databaseMs: number): boolean {
    const monotonicMs = this.#deps.clock.monotonicMs();
    const passedMs = monotonicMs - this.#lastCheck.monotonicMs;
    const driftMs = databaseMs - this.#lastCheck.databaseMs - passedMs;
    this.#lastCheck = { databaseMs, monotonicMs };
    return this.floor !== undefined && passedMs < PAUSE_MS && Math.abs(driftMs) < PAUSE_MS;
  }

  async #run(host: AdapterHost): Promise<void> {
    const { clock, random, logger } = this.#deps;
    const { signal } = this.#stop;
    let lostAtMs = 0;
    for (let attempt = 0; !signal.aborted; ) {
      try {
        this.#session ??= await this.#listen(host);
        await this.#poll(this.#session, host);
        if (attempt > 0) {
          await host.markLive();
          logger.info('PostgreSQL reachable again');
        }
        attempt = 0;
        await clock.sleep(limitValues.postgresPollMs, this.#lost).catch(() => {});
      } catch (thrown) {
        if (signal.aborted) break;
        if (attempt === 0) lostAtMs = clock.nowMs();
        attempt += 1;
        const { code, message: reason } = SynclineError.from(thrown);
        if (attempt === 1) logger.warn('🟡 PostgreSQL unreachable', { error: code, reason });
        host.markStale({ sinceMs: lostAtMs, attempt });
        this.#end();
        await clock.sleep(backoffMs(attempt - 1, RECONNECT, random), signal).catch(() => {});
      }
    }
    this.#end();
  }

  async #listen(host: AdapterHost): Promise<PostgresSession> {
    const session = await this.#deps.pool.connect();
    session.client.on('notification', ({ payload = '' }) => {
      const [jobId = '', revision] = payload.split(' ');
      host.wake(jobId, revision === undefined ? undefined : Number(revision));
    });
    const lost = new AbortController();
    session.client.once('end', () => lost.abort());
    this.#lost = AbortSignal.any([this.#stop.signal, lost.signal]);
    const { schema } = session;
    try {
      await session.query(`LISTEN "${schema}"; SET search_path TO "${schema}"`);
      return session;
    } catch (thrown) {
      session.client.release(true);
      throw thrown;
    }
  }

  #end(): void {
    this.#session?.client.release(true); // this frees its lock and ends its notifications
    this.#session = undefined;
    this.#isWatching = false;
    this.floor = undefined;
  }

  async #poll(session: PostgresSession, host: AdapterHost): Promise<void> {
    const followed = host.followed();
    const found = await session.rows<{ job_id: string; incarnation: string; revision: number }>(
      `SELECT job_id, metadata->>'incarnation' AS incarnation, revision FROM jobs
       WHERE job_id = ANY($1) AND NOT is_deleted`,
      [followed.map(({ jobId }) => jobId)],
    );
    const stored = new Map(found.map((job) => [job.job_id, job]));
    for (const { jobId, incarnation, revision } of followed) {
      const job = stored.get(jobId);
      if (job?.incarnation !== incarnation) host.wake(jobId);
      else if (job.revision > revision) host.wake(jobId, job.revision);
    }
    if (this.#isWatching) return this.#sweep(session);
    const [lock] = await session.rows<{ is_mine: boolean }>(
      'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS is_mine',
      [`syncline watches ${session.schema}`],
    );
    this.#isWatching = lock?.is_mine ?? false;
  }

  async #sweep(session: PostgresSession): Promise<void> {
    const [dead] = await session.rows<{ job_no: number }>(
      'SELECT job_no FROM jobs WHERE is_deleted LIMIT 1',
    );
    if (!dead) return;
    for (const table of ['changes', 'cells', 'tasks']) {
      const swept = `SELECT ctid FROM ${table} WHERE job_no = $1 LIMIT ${SWEPT_ROWS}`;
      const remove = `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(${swept}))`;
      if ((await session.query(remove, [dead.job_no])).rowCount === SWEPT_ROWS) return;
    }
    await session.query('DELETE FROM jobs WHERE job_no = $1', [dead.job_no]);
  }
}
