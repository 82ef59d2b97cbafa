// Answers questions about jobs: from memory what memory has, the states from the log.
//
// Memory is what is committed; the storage may be one batch ahead of it. If that batch has removed the record
// that memory names, the read waits until the two are level and asks again: it never shows a state that its
// writer has not been told of, and never one next to an older aggregate.
import { type Clock, type Storage, SynclineError } from '@syncline/kernel';
import { progressOf } from '../aggregate/progress-of.js';
import type { CheckedJobQuery } from '../checks/job-input.js';
import { isSummaryWanted } from '../core/job-query.js';
import { noSuchJob } from '../core/refusals.js';
import { stateBytes } from '../core/state-bytes.js';
import { jobInfoOf, leaseOf } from '../core/views.js';
import type { JobList, JobSummary, TaskLease } from '../job.js';
import type { StatePage } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { Progress } from '../progress.js';
import type { Scope, State } from '../state.js';
import type { JobFilter } from '../subscription/job-filter.js';
import { ViewSlots } from '../subscription/view-slots.js';
import type { CommitQueue } from './commit-queue.js';
import { countsOfHead, type JobHead } from './head.js';
import type { JobCache } from './job-cache.js';
import { JobView } from './job-view.js';
import { JobsPage } from './jobs-page.js';
import { headKey, jobIdOfKey, jobsRange, logKey } from './keys.js';
import type { LoadedJob } from './loaded-job.js';
import { findLogState } from './read-log-state.js';
import { isCorrupt, readBatches } from './read-rows.js';
import { decodeHead, decodeJobRow } from './row-codec.js';
import { corruptRow } from './row-reader.js';
import type { StoreLedger } from './store-ledger.js';

export interface JobReadsDeps {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly metrics: JobsMetrics;
  readonly queue: CommitQueue;
  readonly jobs: JobCache;
  readonly ledger: Pick<StoreLedger, 'isCommitted'>;
}

/** Where job ids begin and end: others match none. */
const JOB_ID_PART = /^[\x21-\x7e]*$/;

export class JobReads {
  readonly #deps: JobReadsDeps;
  readonly #slots: ViewSlots;

  constructor(deps: JobReadsDeps, openSnapshotsMax: number) {
    this.#deps = deps;
    this.#slots = new ViewSlots(deps, openSnapshotsMax);
  }

  get openSnapshotsCount(): number {
    return this.#slots.takenCount;
  }

  /** When no view is open: a read that is under way comes to its end. */
  whenDone(): Promise<void> {
    return this.#slots.free();
  }

  async state(job: LoadedJob, taskId: number, tag: string): Promise<State | undefined> {
    job.damage.checkScope({ taskId, tag });
    return this.#whenLevel(() => this.#stateOf(job, taskId, tag), job);
  }

  async progress(job: LoadedJob, scope: Scope): Promise<Progress> {
    job.damage.checkScope(scope);
    return this.#whenLevel(() => {
      const { jobId } = job.row;
      const stateOf = (taskId: number, tag: string) => this.#stateOf(job, taskId, tag);
      const source = { jobId, revision: job.head.revision, stateOf };
      return progressOf(source, job.aggregates.summary(scope));
    }, job);
  }

  lost(job: LoadedJob): readonly TaskLease[] {
    return [...job.aggregates.lostTasks]
      .sort((a, b) => a - b)
      .slice(0, jobsLimits.lostListMax.value)
      .flatMap((taskId) => job.tasks.get(taskId) ?? [])
      .map((task) => leaseOf(task, 0));
  }

  async page(
    job: LoadedJob,
    scope: Scope,
    page: {
      readonly afterRevision: number;
      readonly limit: number;
      readonly signal: AbortSignal | undefined;
    },
  ): Promise<StatePage> {
    const { afterRevision, limit, signal } = page;
    const { incarnation } = job.row;
    const view = await this.view(job, { scope, withLeases: false, withJob: false }, signal);
    try {
      const states: State[] = [];
      let bytes = 0;
      for await (const changes of view.latest(afterRevision)) {
        for (const change of changes) {
          if (change.kind !== 'state') continue;
          bytes += stateBytes(change.state);
          const isFull = states.length === limit || bytes > jobsLimits.listStatesBytesMax.value;
          const revision = states.at(-1)?.revision;
          if (isFull && revision !== undefined) {
            return { states, revision, incarnation, more: true };
          }
          states.push(change.state);
        }
      }
      const revision = Math.max(view.revision, afterRevision);
      return { states, revision, incarnation, more: false };
    } finally {
      view.close();
    }
  }

  /** A job that cannot be read is named, and keeps nobody from the others. */
  async list(query: CheckedJobQuery): Promise<JobList> {
    const { storage } = this.#deps;
    const { prefix = '', afterJobId = '', limit } = query;
    const page = new JobsPage(limit);
    if (!JOB_ID_PART.test(prefix)) return page.result();
    await storage.whenReadable();
    const add = (key: Uint8Array, value: Uint8Array | undefined) => {
      const summary = this.#summaryOf(key, value);
      if (summary === 'damaged') page.addDamaged(jobIdOfKey(key));
      else if (summary && isSummaryWanted(query, summary)) page.add(summary);
    };
    const range = jobsRange(prefix, afterJobId);
    for await (const entries of readBatches(storage, range, async (key) => add(key, undefined))) {
      for (const { key, value } of entries) add(key, value);
      if (page.hasMore) break;
    }
    return page.result();
  }

  /** Waits for a slot, for a readable storage and for a moment at which memory and storage hold the same. */
  async view(job: LoadedJob, filter: JobFilter, signal?: AbortSignal): Promise<JobView> {
    job.damage.checkWhole();
    const { storage, clock } = this.#deps;
    const slot = await this.#slots.take(signal);
    const onClose = () => {
      slot.giveBack();
      this.#reportSlots();
    };
    this.#reportSlots();
    for (;;) {
      try {
        await storage.whenReadable();
        const open = () =>
          new JobView({ job, snapshot: storage.snapshot(), clock, slot, onClose }, filter);
        return await this.#atLevel(job, open);
      } catch (thrown) {
        if (isUnavailable(thrown) && !signal?.aborted) continue;
        onClose();
        throw thrown;
      }
    }
  }

  #reportSlots(): void {
    this.#deps.metrics.set('syncline_jobs_open_snapshots', this.#slots.takenCount);
  }

  #stateOf(job: LoadedJob, taskId: number, tag: string): State | undefined {
    const revision = job.placeOf(taskId, tag);
    if (revision === 0) return undefined;
    const state = findLogState(this.#deps.storage, job, revision);
    if (!state) throw new RecordMoved(revision);
    return state;
  }

  /** Reads at once, or once more when memory and storage are level: then what is missing is damaged. */
  async #whenLevel<T>(read: () => T, job: LoadedJob): Promise<T> {
    const { storage } = this.#deps;
    try {
      if (storage.health().kind === 'reopening') await storage.whenReadable();
      return read();
    } catch (thrown) {
      if (!(thrown instanceof RecordMoved) && !isUnavailable(thrown)) throw thrown;
      await storage.whenReadable();
    }
    try {
      return await this.#atLevel(job, read);
    } catch (thrown) {
      throw thrown instanceof RecordMoved ? corruptRow(logKey(job.jobNo, thrown.revision)) : thrown;
    }
  }

  /** Who has waited may find the job deleted, and its rows on their way out. */
  #atLevel<T>(job: LoadedJob, read: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#deps.queue.whenLevel(() => {
        try {
          if (job.isDeleted) throw noSuchJob(job.row.jobId);
          resolve(read());
        } catch (thrown) {
          reject(thrown);
        }
      });
    });
  }

  /**
   * Of a row of the list; without a value the storage could not read it. Undefined: there is no such job, because it
   * was deleted while the list was read, or not yet (J4): its creation is in flight.
   */
  #summaryOf(key: Uint8Array, value: Uint8Array | undefined): JobSummary | 'damaged' | undefined {
    const { jobs, ledger } = this.#deps;
    const jobId = jobIdOfKey(key);
    const loaded = jobs.peek(jobId);
    if (loaded) return summaryOf(loaded);
    if (!value) return 'damaged';
    try {
      const { jobNo, row } = decodeJobRow(key, value, jobId);
      if (!ledger.isCommitted(jobNo)) return undefined;
      const head = this.#headOf(jobNo);
      if (head) return summaryOf({ row, head });
      return this.#deps.storage.get(key) ? 'damaged' : undefined;
    } catch (thrown) {
      if (isCorrupt(thrown)) return 'damaged';
      throw thrown;
    }
  }

  #headOf(jobNo: number): JobHead | undefined {
    const key = headKey(jobNo);
    const bytes = this.#deps.storage.get(key);
    return bytes && decodeHead(key, bytes);
  }
}

class RecordMoved extends Error {
  readonly revision: number;

  constructor(revision: number) {
    super(`the record of revision ${revision} was replaced meanwhile`);
    this.revision = revision;
  }
}

function summaryOf({ row, head }: { row: LoadedJob['row']; head: JobHead }): JobSummary {
  return { job: jobInfoOf(row, head), cells: countsOfHead(row, head), lostTasks: head.lostTasks };
}

function isUnavailable(thrown: unknown): boolean {
  return thrown instanceof SynclineError && thrown.code === 'unavailable';
}
