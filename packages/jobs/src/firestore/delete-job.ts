// Deletes a job: first it is gone for everyone, then its documents are removed, the job document last.
//
// The first transaction sets `isDeleting`, which every reader takes for «no such job», and removes the metadata
// that listeners look at. Whoever finds such a job, after a crash in the middle, can go on from there: another
// `deleteJob`, or a `createJob` of the same name. Each commit looks whether it is still about this incarnation,
// so that one who comes late removes nothing of a job that was created since.
import type { Query } from '@google-cloud/firestore';
import { otherJobRefusal } from '../core/refusals.js';
import { jobsLimits } from '../limits.js';
import { outcomeUnknown } from '../outcome-unknown.js';
import type { JobDocuments } from './document-refs.js';
import type { FirestoreCalls } from './firestore-calls.js';
import { readJobDocument } from './job-document.js';

/** Returns the incarnation that it has deleted. Undefined: there was none. `meant`: any other is `fenced`. */
export async function deleteJob(
  calls: FirestoreCalls,
  documents: JobDocuments,
  meant?: string,
): Promise<string | undefined> {
  const incarnation = await beginDelete(calls, documents, meant);
  // Once it is gone for everyone, a failure does not mean that nothing happened.
  if (incarnation !== undefined)
    await removeAll(calls, documents, incarnation).catch(outcomeUnknown);
  return incarnation;
}

function beginDelete(
  calls: FirestoreCalls,
  documents: JobDocuments,
  meant: string | undefined,
): Promise<string | undefined> {
  return calls.transact(whatOf(documents), async (transaction) => {
    const record = readJobDocument(await transaction.get(documents.job));
    const refusal = record && otherJobRefusal(record.job, meant);
    if (refusal) throw refusal;
    if (record && !record.isDeleting) {
      transaction.update(documents.job, { isDeleting: true, deleted: true });
      transaction.delete(documents.metadata);
    }
    return record?.job.incarnation;
  });
}

/** What is left of a job whose deletion has begun. */
export async function removeAll(
  calls: FirestoreCalls,
  documents: JobDocuments,
  incarnation: string,
): Promise<void> {
  for (const collection of [documents.states, documents.leases]) {
    const page = collection.limit(jobsLimits.firestoreDeletesMax.value);
    while (await removePage(calls, documents, { page, incarnation }));
  }
  await calls.transact(whatOf(documents), async (transaction) => {
    const record = readJobDocument(await transaction.get(documents.job));
    if (record?.job.incarnation === incarnation) transaction.delete(documents.job);
  });
}

/** Whether there may be more. */
async function removePage(
  calls: FirestoreCalls,
  documents: JobDocuments,
  { page, incarnation }: { readonly page: Query; readonly incarnation: string },
): Promise<boolean> {
  const what = whatOf(documents);
  const found = await calls.read(what, () => page.get());
  if (found.empty) return false;
  return calls.transact(what, async (transaction) => {
    const record = readJobDocument(await transaction.get(documents.job));
    if (record?.job.incarnation !== incarnation) return false; // somebody else has finished it
    for (const { ref } of found.docs) transaction.delete(ref);
    return true;
  });
}

function whatOf({ jobId }: JobDocuments): string {
  return `the deletion of job "${jobId}"`;
}
