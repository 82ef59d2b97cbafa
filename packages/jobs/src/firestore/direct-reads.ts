// Reads past the cache: from Firestore itself, when nobody listens to the job.
//
// Only single-field queries are used, for which Firestore has indexes without being told.
import type { DocumentSnapshot, Firestore } from '@google-cloud/firestore';
import type { CheckedJobQuery } from '../checks/job-input.js';
import { checkScope } from '../checks/task-input.js';
import { isNameWanted, isSummaryWanted } from '../core/job-query.js';
import { noSuchJob } from '../core/refusals.js';
import type { JobChange } from '../core/rows.js';
import type { JobSummary } from '../job.js';
import type { StatePage } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import type { Scope, State } from '../state.js';
import { allJobs, JobDocuments } from './document-refs.js';
import type { FirestoreCalls } from './firestore-calls.js';
import { type JobRecord, readJobDocument, summaryOf } from './job-document.js';
import { listenedChange } from './listened-batch.js';
import { readStateDocument } from './state-document.js';
import { type PageBounds, StatePageBuilder } from './state-page.js';

export interface DirectReadsDeps {
  readonly firestore: Firestore;
  readonly calls: FirestoreCalls;
}

const PAGE_JOBS_MIN = 100;
/** Above every character of a job id. */
const AFTER_ALL_NAMES = '\u007f';

export class DirectReads {
  readonly #deps: DirectReadsDeps;

  constructor(deps: DirectReadsDeps) {
    this.#deps = deps;
  }

  /** Undefined: there is none. */
  async findJob(jobId: string): Promise<JobRecord | undefined> {
    const documents = this.#documents(jobId);
    const snapshot = await this.#deps.calls.read(`reading job "${jobId}"`, () =>
      documents.job.get(),
    );
    return present(snapshot);
  }

  async job(jobId: string): Promise<JobRecord> {
    const record = await this.findJob(jobId);
    if (!record) throw noSuchJob(jobId);
    return record;
  }

  /** Both of one moment. */
  async state(
    jobId: string,
    taskId: number,
    tag: string,
  ): Promise<{ readonly record: JobRecord; readonly state: State | undefined }> {
    const { firestore, calls } = this.#deps;
    const documents = this.#documents(jobId);
    const [job, cell] = await calls.read(`reading a state of job "${jobId}"`, () =>
      firestore.getAll(documents.job, documents.state(taskId, tag)),
    );
    const record = job && present(job);
    if (!record) throw noSuchJob(jobId);
    return { record, state: cell && readStateDocument(jobId, cell)?.state };
  }

  /** Of one incarnation: the states are read again if the job was deleted or created anew meanwhile. */
  async page(jobId: string, scope: Scope, bounds: PageBounds): Promise<StatePage> {
    for (;;) {
      const before = await this.job(jobId);
      const page = await this.#pageOf(before, checkScope(scope, before.job.numTasks), bounds);
      const after = await this.findJob(jobId);
      if (after?.job.incarnation === before.job.incarnation) return page;
    }
  }

  async jobs(
    query: CheckedJobQuery,
  ): Promise<{ readonly jobs: readonly JobSummary[]; readonly next?: string }> {
    const { calls, firestore } = this.#deps;
    const { prefix = '', limit } = query;
    // A filter may pass over most of them: pages must not be small because few are wanted.
    const pageMax = Math.max(limit + 1, PAGE_JOBS_MIN);
    const jobs: JobSummary[] = [];
    for (let after = query.afterJobId ?? ''; ; ) {
      const page = allJobs(firestore)
        .where('jobId', '>', after)
        .where('jobId', '>=', prefix)
        .where('jobId', '<', prefix + AFTER_ALL_NAMES)
        .orderBy('jobId')
        .limit(pageMax);
      const found = await calls.read('listing the jobs', () => page.get());
      for (const document of found.docs) {
        after = document.id;
        const record = present(document);
        const summary = record && isNameWanted(query, document.id) && summaryOf(record);
        if (!summary || !isSummaryWanted(query, summary)) continue;
        const last = jobs.at(-1);
        if (last && jobs.length === limit) return { jobs, next: last.job.jobId };
        jobs.push(summary);
      }
      if (found.size < pageMax) return { jobs };
    }
  }

  /** `record` was read before: what comes is complete up to its revision at least. */
  async #pageOf(record: JobRecord, scope: Scope, bounds: PageBounds): Promise<StatePage> {
    const { calls } = this.#deps;
    const { jobId, incarnation } = record.job;
    const { states } = this.#documents(jobId);
    const what = `listing the states of job "${jobId}"`;
    const builder = new StatePageBuilder(scope, bounds);
    if (scope.taskId !== undefined) {
      const found = await calls.read(what, () => states.where('taskID', '==', scope.taskId).get());
      const changes = changesOf(jobId, found.docs);
      for (const change of changes.sort((a, b) => a.revision - b.revision)) {
        if (change.revision > bounds.afterRevision && builder.add(change) === 'full') break;
      }
      return builder.page(incarnation, record.head.revision);
    }
    const pageMax = jobsLimits.listStatesMax.value;
    for (let after = bounds.afterRevision; ; ) {
      const query = states.where('revision', '>', after).orderBy('revision').limit(pageMax);
      const found = await calls.read(what, () => query.get());
      for (const change of changesOf(jobId, found.docs)) {
        if (builder.add(change) === 'full') return builder.page(incarnation, record.head.revision);
        after = change.revision;
      }
      if (found.size < pageMax) {
        return builder.page(incarnation, Math.max(after, record.head.revision));
      }
    }
  }

  #documents(jobId: string): JobDocuments {
    return new JobDocuments(this.#deps.firestore, jobId);
  }
}

function present(snapshot: DocumentSnapshot): JobRecord | undefined {
  const record = readJobDocument(snapshot);
  return record?.isDeleting ? undefined : record;
}

function changesOf(jobId: string, documents: readonly DocumentSnapshot[]): JobChange[] {
  return documents.flatMap((document) => listenedChange(jobId, document)?.change ?? []);
}
