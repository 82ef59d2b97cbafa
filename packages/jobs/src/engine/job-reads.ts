// Answers questions about jobs: from memory what memory has, the states from the store.
//
// Memory is what is committed; an exclusive store may be one commit ahead of it. If that commit has removed the change
// that memory names, the read waits until the two are level and asks again: it never shows a state before its writer
// has an answer, and never one next to an older aggregate.
import { type Clock, SynclineError } from '@syncline/kernel';
import type { CheckedJobQuery } from '../checks/job-input.js';
import { isSummaryWanted } from '../core/job-query.js';
import { noSuchJob } from '../core/refusals.js';
import { jobInfoOf, leaseOf } from '../core/views.js';
import type { JobInfo, JobList, JobSummary, TaskLease } from '../job.js';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { Progress } from '../progress.js';
import { defaultState, type Scope } from '../state.js';
import type { StoredState } from '../wire/state-message.js';
import type { Cell } from './best-cell.js';
import type { Commits } from './commits.js';
import type { JobCache } from './job-cache.js';
import type { CellsSummary } from './job-cells.js';
import type { JobFeedView } from './job-feed.js';
import type { JobFilter } from './job-filter.js';
import type { JobMirror } from './job-mirror.js';
import { progressOf } from './progress-of.js';
import type { CellRef, JobHead, StoreAdapter } from './store-adapter.js';
import { decodeStoredState } from './stored-change.js';
import { ViewSlots } from './view-slots.js';

export interface JobReadsDeps {
  readonly adapter: StoreAdapter;
  readonly clock: Clock;
  readonly metrics: JobsMetrics;
  readonly jobs: JobCache;
  readonly commits: Commits;
}

/** Job, progress and lost leases of one moment. */
export interface JobProgress {
  readonly job: JobInfo;
  readonly progress: Progress<StoredState>;
  readonly lost: readonly TaskLease[];
}

export interface EncodedPage {
  readonly states: readonly Uint8Array[];
  readonly revision: number;
  readonly incarnation: string;
  readonly more: boolean;
}

/** What a job takes in a list besides its texts, about. */
const SUMMARY_BYTES = 200;
/** What a state takes on a page besides its message, about. */
const STATE_BYTES = 16;

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

  /** When no view is open: a read in progress comes to its end. */
  whenDone(): Promise<void> {
    return this.#slots.free();
  }

  /** The State message of a cell; undefined if it was never written. */
  async state(job: JobMirror, taskId: number, tag: string): Promise<Uint8Array | undefined> {
    job.damage.checkScope({ taskId, tag });
    const { found, states } = await this.#states(job, () => {
      const revision = job.cells.revisionOf(taskId, tag);
      return { found: revision, cells: revision === 0 ? [] : [{ taskId, tag, revision }] };
    });
    return states.get(found);
  }

  async progress(job: JobMirror, scope: Scope): Promise<JobProgress> {
    job.damage.checkScope(scope);
    const { jobId } = job.row;
    const { found, states } = await this.#states(job, () => {
      const { row, head } = job;
      const summary = job.cells.summary(scope, head.counts.all(row));
      const places = namedCells(job, [summary, ...summary.tags]);
      const info = jobInfoOf(row, head);
      return { found: { summary, places, info, lost: lostOf(job) }, cells: [...places.values()] };
    });
    const { summary, places, info, lost } = found;
    const stateOf = ({ taskId, tag }: Cell): StoredState => {
      const bytes = states.get(places.get(nameOf(taskId, tag))?.revision ?? 0);
      return bytes ? decodeStoredState(bytes, jobId) : defaultState(jobId, taskId, tag);
    };
    const source = { revision: info.revision, stateOf, withoutPayload };
    const progress = progressOf(source, summary);
    return { job: info, progress, lost };
  }

  async page(
    job: JobMirror,
    scope: Scope,
    page: {
      readonly afterRevision: number;
      readonly limit: number;
      readonly signal: AbortSignal | undefined;
    },
  ): Promise<EncodedPage> {
    const { afterRevision, limit, signal } = page;
    const { incarnation } = job.row;
    const view = await this.view(job, { scope, withLeases: false, withJob: false }, signal);
    try {
      const states: Uint8Array[] = [];
      let bytes = 0;
      let last = 0;
      for await (const changes of view.latest(afterRevision)) {
        for (const change of changes) {
          if (change.kind !== 'state') continue;
          bytes += STATE_BYTES + change.bytes.length;
          const isFull = states.length === limit || bytes > jobsLimits.listStatesBytesMax.value;
          if (isFull && last > 0) return { states, revision: last, incarnation, more: true };
          states.push(change.bytes);
          last = change.revision;
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
    const { adapter, jobs } = this.#deps;
    const { prefix = '', afterJobId: after = '', limit } = query;
    const found: JobSummary[] = [];
    const damaged: string[] = [];
    let bytes = 0;
    let last = '';
    const result = (hasMore: boolean): JobList => ({
      jobs: found,
      ...(damaged.length > 0 && { damaged }),
      ...(hasMore && { next: last }),
    });
    await adapter.whenReadable?.();
    for await (const page of adapter.listJobs({ prefix, after })) {
      for (const listed of page) {
        const isDamaged = 'damagedJobId' in listed;
        const jobId = isDamaged ? listed.damagedJobId : listed.row.jobId;
        const mirror = adapter.shared ? undefined : jobs.peek(jobId);
        const summary =
          mirror || !isDamaged ? summaryOf(mirror ?? (listed as JobMirror)) : undefined;
        if (summary && !isSummaryWanted(query, summary)) continue;
        bytes += summary ? summaryBytes(summary) : SUMMARY_BYTES;
        const count = found.length + damaged.length;
        if (count === limit || (count > 0 && bytes > jobsLimits.listJobsBytesMax.value))
          return result(true);
        if (summary) found.push(summary);
        else damaged.push(jobId);
        last = jobId;
      }
    }
    return result(false);
  }

  /** Waits for a slot, for a store that can be read, and for a moment at which memory and store hold the same. */
  async view(job: JobMirror, filter: JobFilter, signal?: AbortSignal): Promise<JobFeedView> {
    job.damage.checkWhole();
    const { adapter, commits } = this.#deps;
    const slot = await this.#slots.take(signal);
    this.#reportSlots();
    const giveBack = () => {
      slot.giveBack();
      this.#reportSlots();
    };
    for (;;) {
      try {
        await adapter.whenReadable?.();
        const view = await commits.atLevel(() => {
          if (job.isDeleted) throw noSuchJob(job.row.jobId);
          return adapter.openView(job);
        });
        let isClosed = false;
        return {
          revision: view.revision,
          compactedTo: view.compactedTo,
          latest: (after) => {
            if (filter.scope.taskId !== undefined || filter.scope.tag !== undefined)
              job.damage.checkScope(filter.scope);
            return view.latest(filter, after);
          },
          changes: (after) => view.changes(filter, after),
          onWanted: (letGo) => slot.onWanted(letGo),
          close() {
            if (isClosed) return;
            isClosed = true;
            view.close();
            giveBack();
          },
        };
      } catch (thrown) {
        if (isUnavailable(thrown) && !signal?.aborted) continue;
        giveBack();
        throw thrown;
      }
    }
  }

  /** Reads the states that `ask` names, of the moment at which it is asked. Asks again if one was replaced since. */
  async #states<T>(
    job: JobMirror,
    ask: () => { readonly found: T; readonly cells: readonly CellRef[] },
  ): Promise<{ readonly found: T; readonly states: ReadonlyMap<number, Uint8Array> }> {
    const { adapter, commits } = this.#deps;
    for (let attempt = 0; ; attempt += 1) {
      try {
        const readable = adapter.whenReadable?.();
        if (readable) await readable;
        const read = () => {
          if (job.isDeleted) throw noSuchJob(job.row.jobId);
          const asked = ask();
          return { ...asked, answer: adapter.readStates(job, asked.cells) };
        };
        const { found, cells, answer } = attempt === 0 ? read() : await commits.atLevel(read);
        const list = answer instanceof Promise ? await answer : answer;
        const states = new Map<number, Uint8Array>();
        for (const [at, { revision }] of cells.entries()) {
          const bytes = list[at];
          if (bytes) states.set(revision, bytes);
        }
        const missing = cells.find(({ revision }) => !states.has(revision));
        if (!missing) return { found, states };
        if (attempt > 0 && !adapter.shared) throw missingChange(job, missing);
      } catch (thrown) {
        if (!isUnavailable(thrown) || attempt > 1) throw thrown;
      }
      if (adapter.shared) commits.follow(job, await adapter.shared.changesAfter(job));
    }
  }

  #reportSlots(): void {
    this.#deps.metrics.set('syncline_jobs_open_snapshots', this.#slots.takenCount);
  }
}

/** The written cells that summaries name, each once. */
function namedCells(
  job: JobMirror,
  summaries: readonly CellsSummary[],
): ReadonlyMap<string, CellRef> {
  const cells = new Map<string, CellRef>();
  for (const { lowest, worst } of summaries) {
    for (const { taskId, tag } of [lowest, worst]) {
      const revision = job.cells.revisionOf(taskId, tag);
      if (revision > 0) cells.set(nameOf(taskId, tag), { taskId, tag, revision });
    }
  }
  return cells;
}

function nameOf(taskId: number, tag: string): string {
  return `${taskId} ${tag}`;
}

function withoutPayload(stored: StoredState): StoredState {
  const { payloadJson: _, ...state } = stored;
  return state;
}

function lostOf(job: JobMirror): readonly TaskLease[] {
  return [...job.cells.lostTasks]
    .sort((a, b) => a - b)
    .slice(0, jobsLimits.lostListMax.value)
    .flatMap((taskId) => job.tasks.get(taskId) ?? [])
    .map((task) => leaseOf(task, 0));
}

function summaryOf({ row, head }: Readonly<{ row: JobMirror['row']; head: JobHead }>): JobSummary {
  const all = head.counts.all(row);
  const { lostTasks } = head.counts;
  const job = jobInfoOf(row, head);
  return { job, cells: all.toCounts(), percent: all.percent(), lostTasks };
}

function summaryBytes({ job: { jobId, expectedTags, labels } }: JobSummary): number {
  let bytes = SUMMARY_BYTES + jobId.length;
  for (const tag of expectedTags) bytes += Buffer.byteLength(tag) + 4;
  for (const [name, value] of Object.entries(labels))
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value) + 8;
  return bytes;
}

function missingChange(job: JobMirror, { taskId, tag, revision }: CellRef): SynclineError {
  const { jobId } = job.row;
  return new SynclineError(
    'corrupt',
    `the change ${revision} of job "${jobId}", the latest of task ${taskId} and tag ${JSON.stringify(tag)}, is ` +
      'missing. The disk probably lost it. Restore the data from a backup, or delete the job.',
    { details: { jobId, revision } },
  );
}

function isUnavailable(thrown: unknown): boolean {
  return thrown instanceof SynclineError && thrown.code === 'unavailable';
}
