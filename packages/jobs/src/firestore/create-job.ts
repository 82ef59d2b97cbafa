// Creates a job, or gets the one that is there.
//
// J15  The transaction reads the job document, so of concurrent creators one commits, and the others are
//      overtaken and find what it wrote.
import { Buffer } from 'node:buffer';
import type { DocumentSnapshot, Firestore } from '@google-cloud/firestore';
import type { Random } from '@syncline/kernel';
import { decideCreate } from '../core/decide-job.js';
import { jobInfoOf } from '../core/views.js';
import type { JobInfo, JobSpec } from '../job.js';
import type { JobsMetrics } from '../metrics-list.js';
import { outcomeUnknown } from '../outcome-unknown.js';
import { removeAll } from './delete-job.js';
import { allJobs, JobDocuments } from './document-refs.js';
import type { FirestoreCalls } from './firestore-calls.js';
import { metadataCopyFields, newJobFields, readJobDocument } from './job-document.js';
import { EMPTY_TALLY } from './job-tally.js';

const INCARNATION_BYTES = 16;

export interface CreateJobDeps {
  readonly firestore: Firestore;
  readonly calls: FirestoreCalls;
  readonly random: Random;
  readonly metrics: JobsMetrics;
}

export type CreatedJob = Readonly<{ job: JobInfo; created: boolean }>;

export async function createJob(deps: CreateJobDeps, spec: Required<JobSpec>): Promise<CreatedJob> {
  const { firestore, calls, random, metrics } = deps;
  const documents = new JobDocuments(firestore, spec.jobId);
  const what = `the creation of job "${spec.jobId}"`;
  for (;;) {
    const incarnation = Buffer.from(random.bytes(INCARNATION_BYTES)).toString('hex');
    const found = readJobDocument(await calls.read(what, () => documents.job.get()));
    // Somebody has died while deleting it.
    if (found?.isDeleting) await removeAll(calls, documents, found.job.incarnation);
    const jobsCount = found && !found.isDeleting ? 0 : await countJobs(deps);
    const outcome = await calls.transact(what, async (transaction) => {
      const snapshot = await transaction.get(documents.job);
      const birth = { incarnation, jobsCount, nowMs: snapshot.readTime.toMillis() };
      const decision = decide(snapshot, spec, birth);
      if (decision?.kind !== 'apply') return decision;
      const { job, head } = decision;
      const record = { job, head, tally: EMPTY_TALLY, isDeleting: false };
      transaction.set(documents.job, newJobFields(record));
      transaction.set(documents.metadata, metadataCopyFields(job, 'created'));
      return decision;
    });
    if (!outcome) continue;
    if (outcome.kind === 'refused') throw outcome.error;
    if (outcome.kind === 'unchanged') {
      // Ours, if the reply to an earlier commit was lost.
      return { job: outcome.info, created: outcome.info.incarnation === incarnation };
    }
    const created = readJobDocument(
      await calls.read(what, () => documents.job.get()).catch(outcomeUnknown),
    );
    // Deleted since; perhaps it was created by another after that.
    if (created?.job.incarnation !== incarnation) continue;
    metrics.set('syncline_jobs_jobs', jobsCount + 1);
    return { job: jobInfoOf(created.job, created.head), created: true };
  }
}

/** Undefined: it is being deleted. */
function decide(
  snapshot: DocumentSnapshot,
  spec: Required<JobSpec>,
  birth: Parameters<typeof decideCreate>[2],
) {
  const record = readJobDocument(snapshot);
  return record?.isDeleting ? undefined : decideCreate(record, spec, birth);
}

async function countJobs({ firestore, calls }: CreateJobDeps): Promise<number> {
  const count = await calls.read('counting the jobs', () => allJobs(firestore).count().get());
  return count.data().count;
}
