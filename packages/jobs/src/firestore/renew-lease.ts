// Renews a lease past the job document: heartbeats of a thousand tasks must not queue up before it.
//
// The transaction reads the document of the task, which has its epoch, and writes the renewal beside it. What
// it needs to know of the job cannot change under a task that is there: its incarnation.
import { decideLease } from '../core/decide-lease.js';
import type { JobRows } from '../core/decision.js';
import type { LeaseRequest, TaskLease } from '../job.js';
import type { JobDocuments } from './document-refs.js';
import type { FirestoreCalls } from './firestore-calls.js';
import { mustRenew, readTaskDocument, renewalFields } from './task-document.js';

/** Undefined: the lease was lost and is to be held again, which is a change of the job. */
export function renewLease(
  { calls, documents }: { readonly calls: FirestoreCalls; readonly documents: JobDocuments },
  rows: JobRows,
  request: LeaseRequest,
): Promise<TaskLease | undefined> {
  const what = `the renewal of task ${request.taskId} of job "${request.jobId}"`;
  return calls.transact(what, async (transaction) => {
    const snapshot = await transaction.get(documents.task(request.taskId));
    const record = readTaskDocument(snapshot);
    const task = record?.incarnation === rows.job.incarnation ? record.task : undefined;
    const decision = decideLease({ ...rows, task }, request, snapshot.readTime.toMillis());
    if (decision.kind === 'refused') throw decision.error;
    if (decision.kind === 'apply' || !task) return undefined;
    if (mustRenew(task)) transaction.set(documents.lease(task.taskId), renewalFields(task));
    return decision.lease;
  });
}
