// Looking for leases that nobody renews: the search never ends while somebody listens, many are found together,
// and what has ended is not found again.
import { Firestore, Timestamp } from '@google-cloud/firestore';
import { type Clock, createSystemClock, type Timer } from '@syncline/kernel';
import { startFirestore, type TestFirestore } from '@syncline/testkit/firestore';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createJob, TaskWriter } from '../conformance/job-samples.js';
import { createFirestoreJobStore } from './create-firestore-job-store.js';

const TTL_MS = 1_000;
const ROUND_MS = TTL_MS / 2;

let server: TestFirestore;
beforeEach(async () => {
  server = await startFirestore();
});
afterEach(() => server[Symbol.asyncDispose]());

/** Rounds begin when the test says so. */
class RoundsByHand implements Clock {
  readonly #clock = createSystemClock();
  readonly nowMs = () => this.#clock.nowMs();
  readonly monotonicMs = () => this.#clock.monotonicMs();
  readonly sleep: Clock['sleep'] = (...given) => this.#clock.sleep(...given);
  readonly defer: Clock['defer'] = (...given) => this.#clock.defer(...given);
  readonly rounds: (() => void)[] = [];

  setTimer(ms: number, callback: () => void, options?: { readonly unref?: boolean }): Timer {
    if (ms !== ROUND_MS) return this.#clock.setTimer(ms, callback, options);
    this.rounds.push(callback);
    return { cancel() {} };
  }
}

const open = (clock: Clock = createSystemClock()) =>
  createFirestoreJobStore({ projectId: 'test', ...server.settings }, { clock });

/** What a round could find, now or later. */
async function renewalsCount(): Promise<number> {
  const firestore = new Firestore({ projectId: 'test', ...server.settings });
  const leases = firestore.collection('jobs/job/leases').where('renewedAt', '<=', Timestamp.now());
  const { size } = await leases.get();
  await firestore.terminate();
  return size;
}

test('J18 the search goes on after a round that came while an own write was ahead of the listener', async () => {
  const clock = new RoundsByHand();
  await using store = open(clock);
  await using other = open();
  const job = await createJob(store, { numTasks: 3 });
  await TaskWriter.claim(store, job, { taskId: 0, ttlMs: TTL_MS });
  await store.aggregate('job', {});
  expect(clock.rounds).toHaveLength(1);
  server.gate.setFaults({ isMute: true });
  await TaskWriter.claim(other, job, { taskId: 1 });
  await TaskWriter.claim(store, job, { taskId: 2 });
  clock.rounds[0]?.();
  await expect.poll(() => clock.rounds.length).toBe(2);
});

test('J18 many tasks that died together are lost together, and are not sought again', async () => {
  const tasks = 60;
  await using store = open();
  const job = await createJob(store, { numTasks: tasks + 1, expectedTags: ['ingest'] });
  const claim = (taskId: number) => TaskWriter.claim(store, job, { taskId, ttlMs: TTL_MS });
  const writers = await Promise.all(
    Array.from({ length: tasks + 1 }, (_, taskId) => claim(taskId)),
  );
  await writers.at(-1)?.act('release');
  const before = server.gate.committedCount;
  await expect
    .poll(async () => (await store.aggregate('job', {})).lostTasks, {
      timeout: 15_000,
      interval: 200,
    })
    .toBe(tasks);
  expect(server.gate.committedCount - before).toBeLessThanOrEqual(3);
  expect(await renewalsCount()).toBe(0);
});
