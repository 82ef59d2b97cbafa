// Tombstones, deletion, and a job that is created again under its old name.
import assert from 'node:assert/strict';
import {
  at,
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

export const deleteCases: Cases = {
  'an update replaces what it names, takes a revision, and is an event for subscribers that include metadata':
    update,
  'a marked job refuses writes as conflict, and can be read as before': marked,
  'marking twice changes nothing': markTwice,
  'a repeat of an applied write succeeds on a marked job': repeatOnMarked,
  'deletion ends subscribers with a gap deleted': deletionEndsSubscribers,
  'a deleted job is gone, and deleting it again returns false': deletion,
  'a job that is created again has nothing from the old one': recreated,
  'J13 a global write for another incarnation changes nothing': otherIncarnation,
};

async function update({ subject, capabilities }: CaseContext): Promise<void> {
  const { store } = subject;
  const job = await createJob(store, { labels: { a: '1', b: '2' }, expectedTags: ['x'] });
  await using reader = new StreamReader(subject, { include: ['job'] });
  await reader.untilKind('synced');
  const labelled = await store.updateJob(JOB_ID, { labels: { c: '3' } });
  assert.deepEqual([labelled.labels, labelled.expectedTags], [{ c: '3' }, ['x']]);
  isRevisionAfter(capabilities, labelled.revision, { before: job.revision });
  const event = await reader.nextNews();
  assert.deepEqual(event?.kind === 'job' && event.job, labelled);
  const expecting = await store.updateJob(JOB_ID, { expectedTags: ['z', 'y', 'z'] });
  assert.deepEqual([expecting.labels, expecting.expectedTags], [{ c: '3' }, ['y', 'z']]);
  assert.deepEqual(await store.getJob(JOB_ID), expecting);
}

async function marked({ subject, capabilities }: CaseContext): Promise<void> {
  const { store } = subject;
  const { job, writers } = await createStaffedJob(store, { numTasks: 1 });
  const writer = at(writers, 0);
  const state = await writer.set('a', 1);
  const tombstone = await store.markJobDeleted(JOB_ID);
  assert.ok((tombstone.deletedAtMs ?? 0) >= job.createdAtMs, JSON.stringify(tombstone));
  isRevisionAfter(capabilities, tombstone.revision, { before: state.revision });
  const refusal = { reason: 'marked-deleted' };
  await isRefused(writer.send('a', 2), 'conflict', refusal);
  await isRefused(createJob(store), 'conflict', refusal);
  await isRefused(store.updateJob(JOB_ID, { labels: {} }), 'conflict', refusal);
  await isRefused(TaskWriter.claim(store, job), 'conflict', refusal);
  assert.deepEqual(await store.getState(JOB_ID, 0, 'a'), state);
  assert.deepEqual(await store.getJob(JOB_ID), tombstone);
  assert.equal((await store.aggregate(JOB_ID, {})).cells.running, 1);
  await using reader = new StreamReader(subject);
  assert.equal((await reader.nextNews())?.kind, 'snapshot');
}

async function markTwice({ subject: { store } }: CaseContext): Promise<void> {
  await createJob(store);
  const first = await store.markJobDeleted(JOB_ID);
  assert.deepEqual(await store.markJobDeleted(JOB_ID), first);
  assert.equal(await currentRevision(store), first.revision);
}

async function repeatOnMarked({ subject: { store } }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  const write = at(writers, 0).write('a', 1);
  const first = await store.setState(write);
  await store.markJobDeleted(JOB_ID);
  assert.deepEqual(await store.setState(write), { ...first, duplicate: true });
}

async function deletionEndsSubscribers({ subject }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(subject.store, { numTasks: 1 });
  const readers = [{}, { taskId: 0 }, { tag: 'none' }].map(
    (scope) => new StreamReader(subject, { scope }),
  );
  for (const reader of readers) await reader.untilKind('synced');
  await at(writers, 0).set('a', 1);
  for (const reader of readers.slice(0, 2)) await reader.untilKind('change');
  assert.equal(await subject.store.deleteJob(JOB_ID), true);
  for (const reader of readers) {
    const gap = await reader.nextNews();
    assert.ok(gap?.kind === 'gap' && gap.reason === 'deleted', JSON.stringify(gap));
    assert.equal(gap.fromRevision, gap.toRevision);
    await reader.ends();
  }
}

async function deletion({ subject: { store } }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  await at(writers, 0).set('a', 1);
  assert.equal(await store.deleteJob(JOB_ID), true);
  assert.equal(await store.deleteJob(JOB_ID), false);
  assert.equal(await store.getJob(JOB_ID), undefined);
  assert.deepEqual((await store.listJobs({})).jobs, []);
  await isRefused(at(writers, 0).send('a', 2), 'not-found');
  await isRefused(store.getState(JOB_ID, 0, 'a'), 'not-found');
}

async function otherIncarnation({ subject: { store }, capabilities }: CaseContext): Promise<void> {
  const { incarnation } = await createJob(store, {});
  await store.deleteJob(JOB_ID, { incarnation });
  assert.equal(await store.deleteJob(JOB_ID, { incarnation }), false);
  const job = await createJob(store, {});
  const refusal = { reason: 'incarnation' };
  await isRefused(store.updateJob(JOB_ID, { labels: {} }, { incarnation }), 'fenced', refusal);
  await isRefused(store.markJobDeleted(JOB_ID, { incarnation }), 'fenced', refusal);
  await isRefused(store.deleteJob(JOB_ID, { incarnation }), 'fenced', refusal);
  assert.deepEqual(await store.getJob(JOB_ID), job);
  const own = { incarnation: job.incarnation };
  const updated = await store.updateJob(JOB_ID, { labels: {} }, own);
  isRevisionAfter(capabilities, updated.revision, { before: job.revision });
  const tombstone = await store.markJobDeleted(JOB_ID, own);
  isRevisionAfter(capabilities, tombstone.revision, { before: updated.revision });
  assert.equal(await store.deleteJob(JOB_ID, own), true);
}

async function recreated({ subject, capabilities }: CaseContext): Promise<void> {
  const { store } = subject;
  const old = await createStaffedJob(store, {
    numTasks: 2,
    expectedTags: ['a'],
    labels: { a: 'b' },
  });
  await at(old.writers, 1).set('a', 5);
  await store.deleteJob(JOB_ID);
  const job = await createJob(store, { numTasks: 3 });
  assert.notEqual(job.incarnation, old.job.incarnation);
  isRevisionAfter(capabilities, job.revision, { before: 0 });
  assert.deepEqual([job.numTasks, job.labels, job.expectedTags], [3, {}, []]);
  assert.equal(await store.getState(JOB_ID, 1, 'a'), undefined);
  assert.equal((await store.aggregate(JOB_ID, {})).cells.notStarted, 3);
  const writer = await TaskWriter.claim(store, job, { taskId: 1 });
  assert.equal(writer.lease.epoch, 1);
  isRevisionAfter(capabilities, writer.lease.revision, { before: job.revision });
  const state = await writer.set('a', 1);
  assert.equal(state.version, 1);
  isRevisionAfter(capabilities, state.revision, { before: writer.lease.revision });
  await using reader = new StreamReader(subject);
  const seen = (await reader.untilKind('synced')).filter(({ kind }) => kind === 'snapshot');
  assert.equal(seen.length, 1);
}
