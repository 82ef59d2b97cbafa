// The PostgreSQL store keeps what every job store keeps: two stores over one database, asked in turn, as two servers
// would be. Every case has a schema of its own, so cases can run side by side.
import { createSystemClock } from '@syncline/kernel';
import { type PostgresServer, startPostgres } from '@syncline/testkit';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { jobStoreSuite } from '../conformance/job-store-suite.js';
import { TimerCount } from '../conformance/timer-count.js';
import type { EngineOptions } from '../engine/job-engine.js';
import type { JobStore } from '../job-store.js';
import { createPostgresJobStore } from './postgres-adapter.js';

declare module 'vitest' {
  interface ProvidedContext {
    jobsHistories: number;
  }
}

let server: PostgresServer;
let operator: pg.Pool;
let schemas = 0;

beforeAll(async () => {
  server = await startPostgres('fsync=off');
  operator = new pg.Pool({ connectionString: server.connectionString(), max: 2 });
});

afterAll(async () => {
  await operator.end();
  await server[Symbol.asyncDispose]();
});

const LITTLE_ROOM = {
  retentionRevisionsMax: 3,
  compactionKeysMax: 1,
  memoryRevisionsMax: 2,
  cacheBytesMax: 1,
};
const COMPACTION_MS_MAX = 10_000;

class TwoStores {
  readonly clock = new TimerCount(createSystemClock());
  readonly name: string;
  readonly #engine: EngineOptions;
  #stores: readonly JobStore[] = [];
  #asked = 0;

  constructor(engine: EngineOptions) {
    schemas += 1;
    this.name = `case_${schemas}`;
    this.#engine = engine;
  }

  /** Each call goes to the other one. */
  store = this.#both();

  async open(): Promise<void> {
    const connectionString = `${server.connectionString()}?application_name=${this.name}`;
    const options = { connectionString, schema: this.name, engine: this.#engine };
    const open = () => createPostgresJobStore(options, { clock: this.clock });
    this.#stores = await Promise.all([open(), open()]);
    this.store = this.#both();
  }

  async close(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
  }

  async cut(): Promise<void> {
    const cut =
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1';
    await operator.query(cut, [this.name]);
  }

  /** Until all that is outside retention is gone; writers may go on meanwhile. */
  async compacted(): Promise<void> {
    const due = `SELECT FROM "${this.name}".jobs WHERE NOT is_deleted AND compacted_to < revision - $1`;
    const startMs = this.clock.monotonicMs();
    while ((await operator.query(due, [LITTLE_ROOM.retentionRevisionsMax])).rowCount) {
      if (this.clock.monotonicMs() - startMs > COMPACTION_MS_MAX) return;
      await this.clock.sleep(10);
    }
  }

  #both(): JobStore {
    return new Proxy({} as JobStore, {
      get: (_, key: keyof JobStore) => {
        if (key === 'close') return () => this.close();
        this.#asked += 1;
        const store = this.#stores[this.#asked % this.#stores.length] as JobStore;
        const value = store[key] as unknown;
        return typeof value === 'function' ? value.bind(store) : value;
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    await operator.query(`DROP SCHEMA "${this.name}" CASCADE`);
  }
}

function suiteOf(name: string, engine: EngineOptions, hasFaults: boolean) {
  return jobStoreSuite<TwoStores>({
    name,
    capabilities: { history: 'all', reads: 'linearizable', durability: 'synced', lost: 'store' },
    histories: Math.ceil(inject('jobsHistories') / (hasFaults ? 10 : 50)),
    pendingTimers: ({ clock }) => clock.pending,
    create: async () => {
      const stores = new TwoStores(engine);
      await stores.open();
      return stores;
    },
    ...(hasFaults && {
      faults: {
        cut: (stores) => stores.cut(),
        compact: (stores) => stores.compacted(),
        restart: async (stores) => {
          await stores.close();
          await stores.open();
        },
      },
    }),
  });
}

describe('the PostgreSQL store is a job store', () => {
  const cases = suiteOf('postgres', {}, false);
  for (const { name, run } of cases.filter(({ skipped }) => skipped === undefined))
    test.concurrent(name, run);

  test('faults are injected below; the clock of PostgreSQL cannot be set', () => {
    expect(cases.flatMap(({ name, skipped }) => (skipped === undefined ? [] : [name]))).toEqual([
      'left out, faults.compact is not given: J9 a cursor below what was compacted gets a gap and the latest of each key',
      'left out, faults.compact is not given: a new replay after compaction is complete',
      'left out, faults.stepClock is not given: J19 timestamps never fall, although the clock steps back and forth',
      'left out, faults.cut is not given: histories in which subscribers lose their connections',
      'left out, faults.compact is not given: histories in which replaced changes go away',
      'left out, faults.stall is not given: histories in which everything takes its time',
      'left out, faults.restart is not given: histories in which the store is restarted',
      'left out, faults.stepClock is not given: histories in which the clock steps',
    ]);
  });
});

describe('the PostgreSQL store under faults', () => {
  const cases = suiteOf('postgres-hard', LITTLE_ROOM, true);
  for (const { name, run } of cases.filter((one) => /random history|compact/.test(one.name)))
    test.concurrent(name, run);
});
