// PostgreSQL connections, transactions and errors. A connection failure never ends the process.
import {
  certificateProblem,
  type ErrorCode,
  KeyedQueue,
  type Outcome,
  SynclineError,
} from '@syncline/kernel';
import pg from 'pg';
import type { EngineDeps } from '../engine/store-adapter.js';
import { limitValues } from '../limits.js';

export interface PostgresDeps extends EngineDeps {
  readonly pool: PostgresPool;
}

/** All commits survive a crash of the database, even if its default is otherwise: a cursor may contain any revision. */
const SYNCED =
  "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'";
const INT8 = 20;
/** Versions and revisions stay below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary'): unknown =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format),
};

export class PostgresSession {
  readonly client: pg.PoolClient;
  /** Its name is also that of the channel for notifications. */
  readonly schema: string;
  readonly #queue = new KeyedQueue();

  constructor(client: pg.PoolClient, schema: string) {
    this.client = client;
    this.schema = schema;
  }

  async rows<R>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    return (await this.query(text, values)).rows as R[];
  }

  async begin(mode: string): Promise<void> {
    // A process that is paused in the middle must not block the others forever.
    const idleMs = 2 * limitValues.postgresCallTimeoutMs;
    await this.query(
      `BEGIN ${mode}; SET LOCAL search_path TO "${this.schema}"; ` +
        `SET LOCAL idle_in_transaction_session_timeout = ${idleMs}; ${SYNCED}`,
    );
  }

  /** Runs queries one at a time: the listening connection has two users. Without values, `text` may be several. */
  query(
    text: string,
    values?: readonly unknown[],
    outcome: Outcome = 'not-applied',
  ): Promise<pg.QueryResult> {
    const { postgresCallTimeoutMs: query_timeout } = limitValues;
    const query = { text, types, query_timeout, ...(values && { values: [...values] }) };
    const ask = () =>
      this.client.query(query).catch((thrown: unknown) => {
        throw postgresError(thrown, outcome);
      });
    return this.#queue.run('', ask);
  }
}

export class PostgresPool {
  readonly #pool: pg.Pool;
  readonly #ownsPool: boolean;
  readonly #schema: string;

  constructor(pool: pg.Pool | string, schema: string) {
    this.#ownsPool = typeof pool === 'string';
    this.#schema = schema;
    this.#pool = typeof pool === 'string' ? newPool(pool) : pool;
    this.#pool.on('error', ignore); // an idle connection was closed; the next call opens another
    this.#pool.on('acquire', swallowErrors);
  }

  get connectionsMax(): number {
    return this.#pool.options.max;
  }

  /** The caller must release it. */
  async connect(): Promise<PostgresSession> {
    const client = await this.#pool.connect().catch((thrown: unknown) => {
      throw postgresError(thrown, 'not-applied');
    });
    return new PostgresSession(client, this.#schema);
  }

  /** If `run` throws, nothing is stored and the error is rethrown. */
  async transaction<T>(mode: string, run: (session: PostgresSession) => Promise<T>): Promise<T> {
    const session = await this.connect();
    try {
      await session.begin(mode);
      const result = await run(session);
      await session.query('COMMIT', undefined, 'unknown');
      session.client.release();
      return result;
    } catch (thrown) {
      await this.rollback(session, thrown);
      throw thrown;
    }
  }

  /** Releases the connection; if it is broken, it is discarded. */
  async rollback(session: PostgresSession, reason?: unknown): Promise<void> {
    const isLost = reason instanceof SynclineError && reason.code === 'unavailable';
    try {
      if (!isLost) await session.query('ROLLBACK');
      session.client.release(isLost);
    } catch {
      session.client.release(true);
    }
  }

  async close(): Promise<void> {
    if (this.#ownsPool) {
      await this.#pool.end();
      return;
    }
    this.#pool.off('error', ignore);
    this.#pool.off('acquire', swallowErrors);
  }
}

function newPool(connectionString: string): pg.Pool {
  return new pg.Pool({
    connectionString,
    max: limitValues.postgresConnectionsMax,
    connectionTimeoutMillis: limitValues.postgresCallTimeoutMs,
    keepAlive: true,
    allowExitOnIdle: true,
    application_name: 'syncline jobs',
  });
}

function ignore(): void {}

/** If a connection is lost, queries in flight report it. An unhandled `error` event would end the process. */
function swallowErrors(client: pg.PoolClient): void {
  if (!client.listeners('error').includes(ignore)) client.on('error', ignore);
}

export function contentionError(cause?: unknown): SynclineError {
  const message =
    'other writers of the job kept the PostgreSQL transaction from committing. Try again.';
  return new SynclineError('unavailable', message, { details: { reason: 'contention' }, cause });
}

const TRUST = {
  ca: 'sslrootcert in the connection string, or ssl.ca of the pool,',
  own: 'sslcert and sslkey in the connection string, or ssl.cert and ssl.key of the pool',
};

const PRIMARY = 'Promote it, or connect to the primary.';
const TABLES = 'Restore a backup of the schema, or restart to begin with an empty one.';

function postgresError(thrown: unknown, outcome: Outcome): SynclineError {
  const detail = thrown instanceof Error ? thrown.message.slice(0, 256) : String(thrown);
  const code: unknown = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  const state = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : '';
  if (state === '40001' || state === '40P01') return contentionError(thrown);
  const options = { outcome, cause: thrown, details: { reason: 'postgres', state } };
  const error = (kind: ErrorCode, message: string) =>
    new SynclineError(kind, `PostgreSQL ${message}`, options);
  const distrust = state === '' ? certificateProblem(detail, TRUST) : undefined;
  if (distrust !== undefined) return error('unauthenticated', `is unreachable: ${distrust}`);
  const advice = 'Check user, password, database and permissions.';
  if (state === '53100') return error('storage-full', `has no space left: ${detail}`);
  if (/^(28|3D|42501)/.test(state))
    return error('unauthenticated', `refused the connection: ${detail}. ${advice}`);
  if (/^(|08.*|53.*|57P.*|25P03|55000)$/.test(state))
    return error('unavailable', `is unreachable: ${detail}`);
  // It may be about to take over.
  if (state === '25006' || (state === '0A000' && /recovery/.test(detail)))
    return error('unavailable', `is a replica, or read-only: ${detail}. ${PRIMARY}`);
  if (state === '42P01' || state === '3F000')
    return error('storage-failed', `has lost the tables of the store: ${detail}. ${TABLES}`);
  return error('storage-failed', `refused the statement: ${detail} (${state})`);
}
