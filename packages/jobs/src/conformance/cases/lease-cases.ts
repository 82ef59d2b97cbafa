// Leases and fencing: the newest claim of a task writes, and a silent task is declared lost.
//
// J13  After a claim of epoch e+1 no write of epoch ≤ e or of another incarnation is applied.
// J18  `lost` comes between ttl and ttl + 1 s after the last renewal; readers declare it within 1.5 ttl.
import assert from 'node:assert/strict';
import type { JobEvent } from '../../job-store.js';
import { jobsLimits } from '../../limits.js';
import {
  createJob,
  createStaffedJob,
  currentRevision,
  isRevisionAfter,
  JOB_ID,
  TaskWriter,
} from '../job-samples.js';
import type { CaseContext, Cases } from '../job-store-subject.js';
import { isRefused } from '../refused.js';
import { StreamReader } from '../stream-reader.js';

export const leaseCases: Cases = {
  'a claim raises the epoch and takes a revision': claims,
  'J13 after a new claim the old one is fenced': fencing,
  'J13 concurrent claims get different epochs, and the last one writes': concurrentClaims,
  'J13 a repeat of an applied write succeeds after the fence': repeatBehindFence,
  'J13 a write without a claim, or with an epoch that was never assigned, is fenced': unclaimed,
  'J13 a write of another incarnation is fenced': otherIncarnation,
  'tasks are isolated: the epoch of one does not affect another': isolation,
  'a renewal takes no revision, a release takes one': renewAndRelease,
  'a task may still write after its release': writeAfterRelease,
  'leases are events for subscribers that include them': leaseEvents,
};

/** These cases wait for a lease to expire. */
export const lostCases: Cases = {
  'J18 a silent task is lost after its ttl, and held again by a renewal': lostAndRenewed,
  'J18 a write of a lost task makes it held again, in a separate revision': lostAndWritten,
  'J18 a task whose cells are all finished or failed is not lost': finishedIsNotLost,
  'J18 a lease without ttl is never lost': endless,
};

async function claims({ subject: { store }, capabilities }: CaseContext): Promise<void> {
  const job = await createJob(store);
  const first = await TaskWriter.claim(store, job, { taskId: 2, ttlMs: 5_000, holder: 'host 1' });
  const { expiresAtMs, revision, ...lease } = first.lease;
  assert.deepEqual(lease, { taskId: 2, epoch: 1, state: 'held', ttlMs: 5_000, holder: 'host 1' });
  isRevisionAfter(capabilities, revision, { before: job.revision });
  assert.ok(expiresAtMs > job.createdAtMs, `expires at ${expiresAtMs}`);
  const second = await TaskWriter.claim(store, job, { taskId: 2, ttlMs: 0 });
  assert.deepEqual([second.lease.epoch, second.lease.expiresAtMs], [2, 0]);
  isRevisionAfter(capabilities, second.lease.revision, { before: revision });
  assert.equal((await TaskWriter.claim(store, job, { taskId: 0 })).lease.epoch, 1);
}

async function fencing({ subject: { store } }: CaseContext): Promise<void> {
  const job = await createJob(store);
  const zombie = await TaskWriter.claim(store, job);
  await zombie.set('a', 1);
  const heir = await TaskWriter.claim(store, job);
  const before = await currentRevision(store);
  await isRefused(zombie.send('a', 2), 'fenced');
  await isRefused(zombie.act('renew'), 'fenced');
  await isRefused(zombie.act('release'), 'fenced');
  assert.equal(await currentRevision(store), before);
  assert.equal((await heir.set('a', 3)).version, 2);
}

async function concurrentClaims({ subject: { store } }: CaseContext): Promise<void> {
  const job = await createJob(store);
  const writers = await Promise.all([1, 2, 3, 4].map(() => TaskWriter.claim(store, job)));
  const epochs = writers.map(({ lease }) => lease.epoch);
  assert.deepEqual(new Set(epochs), new Set([1, 2, 3, 4]));
  for (const writer of writers) {
    if (writer.lease.epoch < 4) await isRefused(writer.send('a', 1), 'fenced');
    else await writer.set('a', 1);
  }
}

async function repeatBehindFence({ subject: { store } }: CaseContext): Promise<void> {
  const job = await createJob(store);
  const zombie = await TaskWriter.claim(store, job);
  const write = zombie.write('a', 1);
  const first = await store.setState(write);
  await TaskWriter.claim(store, job);
  assert.deepEqual(await store.setState(write), { ...first, duplicate: true });
}

async function unclaimed({ subject: { store } }: CaseContext): Promise<void> {
  const job = await createJob(store);
  const writer = await TaskWriter.claim(store, job);
  await isRefused(writer.send('a', 1, { taskId: 1 }), 'fenced');
  await isRefused(writer.send('a', 1, { epoch: 2 }), 'fenced');
  await isRefused(writer.send('a', 1, { epoch: 0 }), 'fenced');
  assert.equal(await store.getState(JOB_ID, 0, 'a'), undefined);
}

async function otherIncarnation({ subject: { store } }: CaseContext): Promise<void> {
  const first = await createJob(store);
  const old = await TaskWriter.claim(store, first);
  await store.deleteJob(JOB_ID);
  const second = await createJob(store);
  assert.notEqual(second.incarnation, first.incarnation);
  await isRefused(old.send('a', 1), 'fenced');
  await isRefused(old.act('renew'), 'fenced');
  await isRefused(TaskWriter.claim(store, first), 'fenced');
  await TaskWriter.claim(store, second);
  await isRefused(old.send('a', 1), 'fenced');
  assert.equal(await store.getState(JOB_ID, 0, 'a'), undefined);
}

async function isolation({ subject: { store } }: CaseContext): Promise<void> {
  const job = await createJob(store);
  const first = await TaskWriter.claim(store, job, { taskId: 0 });
  await TaskWriter.claim(store, job, { taskId: 1 });
  await TaskWriter.claim(store, job, { taskId: 1 });
  await isRefused(first.send('a', 1, { taskId: 1 }), 'fenced');
  await first.set('a', 1);
  assert.equal(
    (await store.listStates(JOB_ID, {}, { afterRevision: 0, limit: 10 })).states.length,
    1,
  );
}

async function renewAndRelease({ subject: { store }, capabilities }: CaseContext): Promise<void> {
  const job = await createJob(store);
  const writer = await TaskWriter.claim(store, job, { ttlMs: 60_000 });
  const { revision, epoch } = writer.lease;
  const renewed = await writer.act('renew');
  assert.deepEqual([renewed.state, renewed.epoch, renewed.revision], ['held', epoch, revision]);
  assert.equal(await currentRevision(store), revision);
  const released = await writer.act('release');
  assert.deepEqual([released.state, released.expiresAtMs], ['released', 0]);
  isRevisionAfter(capabilities, released.revision, { before: revision });
  assert.equal((await writer.act('release')).revision, released.revision);
  assert.equal(await currentRevision(store), released.revision);
}

async function writeAfterRelease({ subject: { store } }: CaseContext): Promise<void> {
  const job = await createJob(store);
  const writer = await TaskWriter.claim(store, job, { ttlMs: 60_000 });
  await writer.act('release');
  assert.equal((await writer.set('a', 1)).version, 1);
}

async function leaseEvents({ subject }: CaseContext): Promise<void> {
  const { job, writers } = await createStaffedJob(subject.store, { numTasks: 2 });
  await using reader = new StreamReader(subject, { include: ['lease', 'job'] });
  const replay = await reader.untilKind('synced');
  const kinds = replay.filter(({ kind }) => kind !== 'live').map(({ kind }) => kind);
  assert.deepEqual(kinds, ['job', 'lease', 'lease', 'synced']);
  await writers[1]?.act('release');
  const released = await reader.nextNews();
  assert.ok(released?.kind === 'lease' && released.lease.state === 'released');
  await subject.store.updateJob(JOB_ID, { labels: { a: 'b' } });
  const updated = await reader.nextNews();
  assert.ok(updated?.kind === 'job' && updated.job.labels['a'] === 'b');
  assert.equal(updated.job.incarnation, job.incarnation);
  await using plain = new StreamReader(subject);
  await plain.untilKind('synced');
  await writers[0]?.act('release');
  await writers[0]?.set('a', 1);
  assert.equal((await plain.nextNews())?.kind, 'change');
}

const { value: TTL_MS } = jobsLimits.leaseTtlMinMs;

async function lostAndRenewed(context: CaseContext): Promise<void> {
  const { subject, capabilities } = context;
  const { writer, reader, renewedMs } = await silentTask(context);
  await using _ = reader;
  const lost = await nextLease(reader);
  assert.deepEqual([lost.state, lost.epoch, lost.taskId], ['lost', writer.lease.epoch, 1]);
  isWithinBounds(context, renewedMs, subject.clock.monotonicMs());
  assert.deepEqual(
    (await subject.store.listLost(JOB_ID)).map(({ taskId }) => taskId),
    [1],
  );
  assert.equal((await subject.store.aggregate(JOB_ID, {})).lostTasks, 1);
  assert.equal((await subject.store.aggregate(JOB_ID, { taskId: 0 })).lostTasks, 0);
  const renewedAgainMs = subject.clock.monotonicMs();
  const again = await writer.act('renew');
  assert.equal(again.state, 'held');
  isRevisionAfter(capabilities, again.revision, { before: lost.revision });
  assert.equal((await nextLease(reader)).state, 'held');
  const lostAgain = await subject.store.listLost(JOB_ID);
  const isStalled = subject.clock.monotonicMs() - renewedAgainMs >= TTL_MS;
  if (!isStalled) assert.deepEqual(lostAgain, []);
}

async function lostAndWritten(context: CaseContext): Promise<void> {
  const { writer, reader } = await silentTask(context);
  await using _ = reader;
  const lost = await nextLease(reader);
  assert.equal(lost.state, 'lost');
  const state = await writer.set('a', 2);
  const held = await nextLease(reader);
  assert.equal(held.state, 'held');
  isRevisionAfter(context.capabilities, held.revision, { before: lost.revision });
  isRevisionAfter(context.capabilities, state.revision, { before: held.revision });
  const change = await reader.nextNews();
  assert.ok(change?.kind === 'change' && change.state.revision === state.revision);
}

async function finishedIsNotLost({ subject }: CaseContext): Promise<void> {
  const job = await createJob(subject.store, { numTasks: 2 });
  await using reader = new StreamReader(subject, { include: ['lease'] });
  await reader.untilKind('synced');
  const done = await TaskWriter.claim(subject.store, job, { taskId: 0, ttlMs: TTL_MS });
  await done.set('a', 2_147_483_647);
  await done.set('b', -1);
  const silent = await TaskWriter.claim(subject.store, job, { taskId: 1, ttlMs: TTL_MS });
  await silent.set('a', 2_147_483_647);
  // On a stalled machine a lease may also have been lost before the last write of its task renewed it.
  const { revision } = await silent.set('b', -2);
  const lost = (await reader.until((event) => isLostAfter(event, revision))).at(-1);
  assert.equal(lost?.kind === 'lease' && lost.lease.taskId, 1);
  await subject.clock.sleep(TTL_MS);
  assert.deepEqual(
    (await subject.store.listLost(JOB_ID)).map(({ taskId }) => taskId),
    [1],
  );
}

async function endless({ subject }: CaseContext): Promise<void> {
  const job = await createJob(subject.store);
  await using reader = new StreamReader(subject, { include: ['lease'] });
  await reader.untilKind('synced');
  await TaskWriter.claim(subject.store, job, { taskId: 0, ttlMs: 0 });
  await TaskWriter.claim(subject.store, job, { taskId: 1, ttlMs: TTL_MS });
  const lost = (await reader.until((event) => isLostAfter(event, 0))).at(-1);
  assert.equal(lost?.kind === 'lease' && lost.lease.taskId, 1);
}

/** Task 1 of two holds a lease, has begun to work, and then goes silent. The reader has received all of that. */
async function silentTask({ subject }: CaseContext) {
  const job = await createJob(subject.store, { numTasks: 2 });
  const reader = new StreamReader(subject, { include: ['lease'] });
  const writer = await TaskWriter.claim(subject.store, job, { taskId: 1, ttlMs: TTL_MS });
  const sentMs = subject.clock.monotonicMs();
  const { revision } = await writer.set('a', 1);
  const renewedMs = { from: sentMs, to: subject.clock.monotonicMs() };
  await reader.untilRevision(revision);
  return { writer, reader, renewedMs };
}

function isLostAfter(event: JobEvent, revision: number): boolean {
  return event.kind === 'lease' && event.lease.state === 'lost' && event.lease.revision > revision;
}

async function nextLease(reader: StreamReader) {
  const event = (await reader.untilKind('lease')).at(-1);
  return event?.kind === 'lease' ? event.lease : assert.fail('no lease event arrived');
}

/** `renewedMs`: when the last renewal was made. The upper bound leaves room for a busy machine. */
function isWithinBounds(
  { capabilities, time }: CaseContext,
  renewedMs: { readonly from: number; readonly to: number },
  lostMs: number,
): void {
  const latestMs = capabilities.lost === 'store' ? TTL_MS + 1_000 : 1.5 * TTL_MS;
  const roomMs = time === 'simulated' ? 50 : 10_000;
  const [leastMs, mostMs] = [lostMs - renewedMs.to, lostMs - renewedMs.from];
  assert.ok(mostMs >= TTL_MS - 50, `lost after ${mostMs} ms`);
  assert.ok(leastMs <= latestMs + roomMs, `lost after ${leastMs} ms`);
}
