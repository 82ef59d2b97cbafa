// Serves reads of jobs: states from the store, everything else from memory.
//
// Memory holds what is committed; an exclusive store may be one commit ahead of it. If that commit removed the change
// that memory refers to, the read waits until the two are in sync and tries again. So a read never returns a state
// before its writer has received a reply, and never combines a state with an older aggregate.
import { SynclineError } from '@syncline/kernel';
import { type CheckedJobQuery, checkScope } from '../checks/input.js';
import { checkTaskId } from '../checks/values.js';
import { hasCode, noSuchJob } from '../core/refusals.js';
import { jobInfoOf, leaseOf } from '../core/rows.js';
import type { JobInfo, JobList, JobSummary, Scope } from '../job.js';
import { defaultState, STATUS_CLASSES } from '../job.js';
import type { PageBounds } from '../job-store.js';
import { limitValues } from '../limits.js';
import type { StoredState } from '../wire/messages.js';
import { type Cell, COUNT_OF, cellName, progressOf } from './cell-counts.js';
import { decodeStoredState, type JobFilter } from './changes.js';
import type { EncodedPage, JobProgress, StoreReads } from './checked-job-store.js';
import type { EngineParts } from './commits.js';
import type { JobFeedView } from './job-feed.js';
import type { JobMirror } from './job-mirror.js';
import { Slots } from './slots.js';
import type { CellRef } from './store-adapter.js';

type Signal = AbortSignal | undefined;

export interface JobReadsDeps extends EngineParts {
  begin(signal: Signal): void;
}

/** A prefix with any other character matches no job id, and not every database can compare it. */
const JOB_ID_PART = /^[\x21-\x7e]*$/;
/** How often a read is retried because other processes replaced the states in the meantime. */
const CATCH_UP_ATTEMPTS = 20;
/** How long a subscriber waits before it retries a store that was unreachable. */
const VIEW_RETRY_MS = 250;
/** Approximate overhead of a state on a page, excluding its message. */
const STATE_BYTES = 16;

/** A read that needs the State messages of some cells, and what it returns once it has them. */
interface StatesRead<T> {
  readonly cells: readonly CellRef[];
  read(bytesOf: (cell: Required<Scope>) => Uint8Array | undefined): T;
}

export class JobReads implements StoreReads {
  readonly #deps: JobReadsDeps;
  readonly slots: Slots;

  constructor(deps: JobReadsDeps, openSnapshotsMax: number) {
    this.#deps = deps;
    const { clock, metrics } = deps;
    const onChanged = (count: number) => metrics.set('syncline_jobs_open_snapshots', count);
    this.slots = new Slots({ clock, onChanged }, openSnapshotsMax);
  }

  async getJob(jobId: string, signal: Signal): Promise<JobInfo | undefined> {
    return this.#read(jobId, signal, async (job) => job && jobInfoOf(job.row, job.head));
  }

  getState(jobId: string, { taskId, tag }: Required<Scope>, signal: Signal) {
    return this.ofJob(jobId, signal, async (job) => {
      checkTaskId(taskId, job.row.numTasks);
      return this.#withStates(job, () => {
        const revision = job.latestRevision('state', taskId, tag);
        const cells = revision === 0 ? [] : [{ taskId, tag, revision }];
        return { cells, read: (bytesOf) => bytesOf({ taskId, tag }) };
      });
    });
  }

  progress(jobId: string, asked: Scope, signal: Signal): Promise<JobProgress> {
    return this.ofJob(jobId, signal, async (job) => {
      const scope = checkScope(asked, job.row.numTasks);
      job.check('state', scope);
      return this.#withStates(job, () => progressOfJob(job, scope));
    });
  }

  listStates(jobId: string, scope: Scope, page: PageBounds, signal: Signal): Promise<EncodedPage> {
    return this.ofJob(jobId, signal, async (job) => {
      const { numTasks, incarnation } = job.row;
      const filter = { scope: checkScope(scope, numTasks), withLeases: false, withJob: false };
      return readPage(await this.view(job.row, filter, signal), incarnation, page);
    });
  }

  async listJobs(query: CheckedJobQuery): Promise<JobList> {
    const { adapter, jobs } = this.#deps;
    const { prefix = '', afterJobId: after = '' } = query;
    if (!JOB_ID_PART.test(prefix)) return { jobs: [] };
    async function* pages() {
      for await (const page of adapter.listJobs({ prefix, after }))
        yield page.map((listed): ListedSummary => {
          const isDamaged = 'damagedJobId' in listed;
          const jobId = isDamaged ? listed.damagedJobId : listed.row.jobId;
          const mirror = adapter.shared ? undefined : jobs.loaded.get(jobId);
          if (mirror) return summaryOf(mirror);
          return isDamaged ? listed : summaryOf(listed);
        });
    }
    return jobListOf(query, pages());
  }

  /** The job stays in memory while the view is open. Subscribers also wait while the store is unreachable. */
  async view(
    { jobId, incarnation }: Pick<JobInfo, 'jobId' | 'incarnation'>,
    filter: JobFilter,
    signal: Signal,
    isSubscriber = false,
  ): Promise<JobFeedView> {
    const { jobs } = this.#deps;
    const slot = await this.slots.take(signal);
    jobs.hold(jobId);
    const release = () => {
      slot.release();
      jobs.release(jobId);
    };
    try {
      const job = await jobs.load(jobId);
      if (job?.row.incarnation !== incarnation) throw noSuchJob(jobId);
      const view = await this.#open(job, filter, signal, isSubscriber);
      let isOpen = true;
      return {
        revision: view.revision,
        compactedTo: view.compactedTo,
        latest: (after) => view.latest(after),
        changes: (after) => view.changes(after),
        onWanted: (tryRelease) => {
          slot.tryRelease = tryRelease;
        },
        close() {
          if (!isOpen) return;
          isOpen = false;
          view.close();
          release();
        },
      };
    } catch (thrown) {
      release();
      throw thrown;
    }
  }

  async #open(job: JobMirror, filter: JobFilter, signal: Signal, isSubscriber: boolean) {
    const { adapter, clock, commits } = this.#deps;
    for (;;) {
      try {
        job.checkWhole();
        const view = await commits.whenInSync(() => {
          if (job.isDeleted) throw noSuchJob(job.row.jobId);
          return adapter.openView(job, filter);
        });
        // A view of a shared store may be ahead of memory; a feed must not lag behind what it delivers.
        await commits.catchUp(job, view.revision).catch((thrown: unknown) => {
          view.close();
          throw thrown;
        });
        return view;
      } catch (thrown) {
        if (!hasCode(thrown, 'unavailable') || !isSubscriber || signal?.aborted) throw thrown;
        await clock.sleep(VIEW_RETRY_MS, signal);
      }
    }
  }

  /** Throws if the job does not exist. The job stays in memory during the read. */
  ofJob<T>(jobId: string, signal: Signal, read: (job: JobMirror) => Promise<T>): Promise<T> {
    return this.#read(jobId, signal, (job) => {
      if (!job) throw noSuchJob(jobId);
      return read(job);
    });
  }

  async #read<T>(
    jobId: string,
    signal: Signal,
    read: (job: JobMirror | undefined) => Promise<T>,
  ): Promise<T> {
    const { jobs, commits, metrics } = this.#deps;
    for (;;) {
      this.#deps.begin(signal);
      // A load that began before this read may lack what another process has committed in between.
      if (this.#deps.adapter.shared) await jobs.loading.get(jobId)?.catch(() => {});
      const isLoaded = jobs.loaded.get(jobId) !== undefined;
      metrics.add(`syncline_jobs_cache_${isLoaded ? 'hits' : 'misses'}_total`);
      jobs.hold(jobId);
      try {
        const job = await jobs.load(jobId);
        this.#deps.begin(signal);
        if (job && isLoaded) await commits.catchUp(job);
        if (!job?.isDeleted) return await read(job);
        // The job may have been recreated: look it up again.
      } finally {
        jobs.release(jobId);
      }
    }
  }

  /** Reads the State messages that `ask` names. Asks again if one was replaced before it was read. */
  async #withStates<T>(job: JobMirror, ask: () => StatesRead<T>): Promise<T> {
    const { adapter, commits } = this.#deps;
    const read = () => {
      if (job.isDeleted) throw noSuchJob(job.row.jobId);
      const asked = ask();
      return { asked, found: adapter.readStates(job, asked.cells) };
    };
    for (let attempt = 0; ; attempt += 1) {
      const { asked, found } = attempt === 0 ? read() : await commits.whenInSync(read);
      const { cells } = asked;
      const list = await found;
      const missing = cells.find((_, at) => !list[at]);
      const states = new Map(cells.map(({ taskId, tag }, at) => [cellName(taskId, tag), list[at]]));
      if (!missing) return asked.read(({ taskId, tag }) => states.get(cellName(taskId, tag)));
      if (attempt > (adapter.shared ? CATCH_UP_ATTEMPTS : 0)) throw missingChange(job, missing);
      await commits.catchUp(job);
    }
  }
}

/** Reads a page within the limits on states and bytes, but with at least one state if there is any. Closes the view. */
export async function readPage(
  view: JobFeedView,
  incarnation: string,
  { afterRevision, limit }: PageBounds,
): Promise<EncodedPage> {
  try {
    const states: Uint8Array[] = [];
    let bytes = 0;
    let last = 0;
    for await (const changes of view.latest(afterRevision)) {
      for (const change of changes) {
        if (change.kind !== 'state') continue;
        bytes += STATE_BYTES + change.bytes.length;
        const isFull = states.length === limit || bytes > limitValues.listStatesBytesMax;
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

export type ListedSummary = JobSummary | Readonly<{ damagedJobId: string }>;

/** The jobs that match a query, within the limits on jobs and bytes. Jobs that cannot be read are listed by id. */
export async function jobListOf(
  query: CheckedJobQuery,
  pages: AsyncIterable<readonly ListedSummary[]>,
): Promise<JobList> {
  const jobs: JobSummary[] = [];
  const damaged: string[] = [];
  let bytes = 0;
  let last = '';
  /** Whether `worst` is the most severe class that contains a cell. Every job has at least one cell. */
  const isWanted = ({ cells }: JobSummary) =>
    !query.worst || query.worst === STATUS_CLASSES.find((each) => cells[COUNT_OF[each]] > 0);
  const result = (hasMore: boolean): JobList => ({
    jobs,
    ...(damaged.length > 0 && { damaged }),
    ...(hasMore && { next: last }),
  });
  for await (const page of pages) {
    for (const listed of page) {
      const isDamaged = 'damagedJobId' in listed;
      if (!isDamaged && !isWanted(listed)) continue;
      bytes += Buffer.byteLength(JSON.stringify(listed));
      const count = jobs.length + damaged.length;
      if (count === query.limit || (count > 0 && bytes > limitValues.listJobsBytesMax))
        return result(true);
      last = isDamaged ? listed.damagedJobId : listed.job.jobId;
      if (isDamaged) damaged.push(last);
      else jobs.push(listed);
    }
  }
  return result(false);
}

/** The progress of a scope at the current revision. */
export function progressOfJob(job: JobMirror, scope: Scope): StatesRead<JobProgress> {
  const { jobId } = job.row;
  const info = jobInfoOf(job.row, job.head);
  const summary = job.cells.summary(scope);
  const lost = [...job.cells.lostTasks]
    .sort((a, b) => a - b)
    .slice(0, limitValues.lostListMax)
    .flatMap((taskId) => job.tasks.get(taskId) ?? [])
    .map((task) => leaseOf(task, 0));
  /** The written ones among the lowest and worst, without duplicates. */
  const cells = new Map<string, CellRef>();
  for (const { lowest, worst } of [summary, ...summary.tags]) {
    for (const { taskId, tag } of [lowest, worst]) {
      const revision = job.cells.revisionOf(taskId, tag);
      if (revision > 0) cells.set(cellName(taskId, tag), { taskId, tag, revision });
    }
  }
  const read: StatesRead<JobProgress>['read'] = (bytesOf) => {
    const stateOf = (cell: Cell): StoredState => {
      const bytes = bytesOf(cell);
      return bytes ? decodeStoredState(bytes, jobId) : defaultState(jobId, cell.taskId, cell.tag);
    };
    return { job: info, progress: progressOf(info.revision, summary, stateOf), lost };
  };
  return { cells: [...cells.values()], read };
}

export function summaryOf({ row, head }: Pick<JobMirror, 'row' | 'head'>): JobSummary {
  const all = head.counts.all(row);
  const { lostTasks } = head.counts;
  return { job: jobInfoOf(row, head), cells: all.toCounts(), percent: all.percent(), lostTasks };
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
