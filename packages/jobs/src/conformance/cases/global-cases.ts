// Job-wide writes through managers: only those of task 0 are applied.
//
// J14  A job-wide write by a task other than 0 returns `applied: false` and changes nothing, not even the
//      revision.
import assert from 'node:assert/strict';
import { createJobManager } from '../../manager/create-job-manager.js';
import { currentRevision, isRevisionAfter, JOB_ID } from '../job-samples.js';
import type { CaseContext, Cases } from '../job-store-subject.js';

export const globalCases: Cases = {
  'J14 a global write of a task other than 0 changes nothing': otherTask,
  'J14 a global write of task 0 is applied': firstTask,
};

async function otherTask({ subject }: CaseContext): Promise<void> {
  await using worker = await openManager(subject, 1);
  const before = await currentRevision(subject.store);
  const refusal = { applied: false, reason: 'not-task-0' };
  assert.deepEqual(await worker.updateJob({ labels: { a: 'b' } }), refusal);
  assert.deepEqual(await worker.markJobDeleted(), refusal);
  assert.deepEqual(await worker.deleteJob(), refusal);
  const job = await subject.store.getJob(JOB_ID);
  assert.deepEqual([job?.revision, job?.labels, job?.deletedAtMs], [before, {}, undefined]);
}

async function firstTask({ subject, capabilities }: CaseContext): Promise<void> {
  await using first = await openManager(subject, 0);
  const before = await currentRevision(subject.store);
  const updated = await first.updateJob({ labels: { a: 'b' } });
  assert.ok(updated.applied);
  isRevisionAfter(capabilities, updated.revision, { before });
  const marked = await first.markJobDeleted();
  assert.ok(marked.applied);
  isRevisionAfter(capabilities, marked.revision, { before: updated.revision });
  assert.equal((await first.deleteJob()).applied, true);
  assert.equal(await subject.store.getJob(JOB_ID), undefined);
}

function openManager({ store, clock }: CaseContext['subject'], taskIndex: number) {
  return createJobManager({ store, jobId: JOB_ID, taskIndex, numTasks: 2 }, {}, { clock });
}
