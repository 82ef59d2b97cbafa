// Leases in Firestore: heartbeats notify no listener, only Firestore's own clock makes a task lost, and many are found
// together.
import { Firestore, Timestamp } from '@google-cloud/firestore';
import { type Clock, createSystemClock } from '@syncline/kernel';
import { startFirestore, type TestFirestore } from '@syncline/testkit/firestore';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createJob, createStaffedJob, TaskWriter } from '../conformance/job-samples.js';
import { StreamReader } from '../conformance/stream-reader.js';
import { jobsLimits } from '../limits.js';
import { createFirestoreJobStore } from './firestore-job-store.js';

const { value: TTL_MS } = jobsLimits.leaseTtlMinMs;
const HOUR_MS = 3_600_000;

let server: TestFirestore;
beforeAll(async () => {
  server = await startFirestore();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Its monotonic time can be made to leap, as that of a machine that was suspended. */
class LeapingClock implements Clock {
  readonly #clock = createSystemClock();
  readonly nowMs = () => this.#clock.nowMs();
  readonly monotonicMs = () => this.#clock.monotonicMs() + this.leapMs;
  readonly setTimer: Clock['setTimer'] = (...given) => this.#clock.setTimer(...given);
  readonly defer: Clock['defer'] = (...given) => this.#clock.defer(...given);
  leapMs = 0;
  /** How often the store has waited to look for lost leases. */
  roundsCount = 0;

  readonly sleep: Clock['sleep'] = (ms, ...given) => {
    if (ms === TTL_MS / 2) this.roundsCount += 1;
    return this.#clock.sleep(ms, ...given);
  };
}

function open(projectId: string, clock: Clock = createSystemClock()) {
  return createFirestoreJobStore({ projectId, ...server.settings }, { clock });
}

test('heartbeats take no revision and wake no listener', async () => {
  const clock = createSystemClock();
  await using store = open('heartbeats');
  await using other = open('heartbeats');
  const job = await createJob(other);
  const writer = await TaskWriter.claim(other, job, { ttlMs: HOUR_MS });
  await using reader = new StreamReader({ store, clock });
  await reader.untilKind('synced');
  const before = { sent: server.gate.sentCount, commits: server.gate.committedCount };
  for (let count = 0; count < 3; count += 1)
    expect(await writer.act('renew')).toMatchObject({ revision: writer.lease.revision });
  await other.getJob('job'); // by now a listener would have been notified
  expect(server.gate.committedCount - before.commits).toBe(3);
  expect(server.gate.sentCount).toBe(before.sent);
  const { revision } = await writer.set('ingest', 1);
  expect(revision).toBeGreaterThan(writer.lease.revision);
  await reader.untilRevision(revision);
  expect(server.gate.sentCount).toBeGreaterThan(before.sent);
});

test('J18 a lease that has not expired by the clock of Firestore is not lost, whatever ours says', async () => {
  const clock = new LeapingClock();
  await using store = open('leap', clock);
  const { job } = await createStaffedJob(store, { numTasks: 2 });
  const quick = await TaskWriter.claim(store, job, { taskId: 0, ttlMs: TTL_MS });
  await quick.set('ingest', 2_147_483_647); // finished: never lost, but looked after often
  const slow = await TaskWriter.claim(store, job, { taskId: 1, ttlMs: HOUR_MS });
  const { revision } = await slow.set('ingest', 1);
  await using reader = new StreamReader({ store, clock: createSystemClock() });
  await reader.untilRevision(revision);
  clock.leapMs = 2 * HOUR_MS;
  const { roundsCount } = clock;
  await expect.poll(() => clock.roundsCount, { timeout: 60_000 }).toBeGreaterThan(roundsCount + 2);
  expect(await store.listLost('job')).toEqual([]);
  expect(await store.getJob('job')).toMatchObject({ revision });
});

/** What a search could find, now or later. */
async function renewalsCount(projectId: string): Promise<number> {
  const firestore = new Firestore({ projectId, ...server.settings });
  const leases = firestore.collection('jobs/job/leases').where('renewedAt', '<=', Timestamp.now());
  const { size } = await leases.get();
  await firestore.terminate();
  return size;
}

test('J18 many tasks that died together are lost together, and are not searched for again', async () => {
  const tasks = 60;
  await using store = open('many');
  const job = await createJob(store, { numTasks: tasks + 1, expectedTags: ['ingest'] });
  const claim = (taskId: number) => TaskWriter.claim(store, job, { taskId, ttlMs: TTL_MS });
  const writers = await Promise.all(
    Array.from({ length: tasks + 1 }, (_, taskId) => claim(taskId)),
  );
  await writers.at(-1)?.act('release');
  await expect
    .poll(async () => (await store.aggregate('job', {})).lostTasks, {
      timeout: 60_000,
      interval: 200,
    })
    .toBe(tasks);
  expect(await renewalsCount('many')).toBe(0);
});
