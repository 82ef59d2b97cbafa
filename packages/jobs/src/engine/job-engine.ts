// The engine: one for every store. It asks the core about each change with the rows as the commit being formed sees
// them, stages the answer, and leaves storing to the adapter.
//
// Input was checked before. States go in and out encoded (see stored-change.ts), so that a server need not take them
// apart. All but states are always synced: an epoch must not be given twice.
import {
  abortedError,
  type Clock,
  type Logger,
  type Random,
  SynclineError,
  type Timer,
} from '@syncline/kernel';
import type { CheckedWrite } from '../checks/checked-write.js';
import type { CheckedJobQuery } from '../checks/job-input.js';
import { checkTaskId } from '../checks/numbers.js';
import { checkScope } from '../checks/task-input.js';
import { checkJobId } from '../checks/text.js';
import { decideCreate, decideMark, decideUpdate, type MeantJob } from '../core/decide-job.js';
import { decideLease } from '../core/decide-lease.js';
import { decideSetState } from '../core/decide-set-state.js';
import { noSuchJob, otherJobRefusal } from '../core/refusals.js';
import { jobInfoOf } from '../core/views.js';
import type { JobInfo, JobList, JobPatch, JobSpec, LeaseRequest, TaskLease } from '../job.js';
import type { JobSubscription, StoreSubscribeOptions } from '../job-event.js';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import { defaultState, type Scope } from '../state.js';
import { CellCounts } from './cell-counts.js';
import type { CommitBatch } from './commit-batch.js';
import { type CommitOptions, Commits } from './commits.js';
import { Compaction } from './compaction.js';
import type { EncodedEvent } from './feed-event.js';
import { JobCache } from './job-cache.js';
import { JobFeed, SubscriberQuota } from './job-feed.js';
import { JobMirror, type StagedJob } from './job-mirror.js';
import { type EncodedPage, type JobProgress, JobReads } from './job-reads.js';
import { Leases } from './leases.js';
import type { RetentionOptions } from './retention-marks.js';
import type { AdapterHost, StoreAdapter, StoreStart } from './store-adapter.js';
import { storeSubscription } from './store-subscription.js';
import { encodeState } from './stored-change.js';

export interface EngineDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: JobsMetrics;
}

export interface EngineOptions {
  /** Memory for jobs. Default `cacheBytesMax`. Less costs reads when jobs come back. */
  readonly cacheBytesMax?: number;
  /** Changes of a job that are kept although later ones replaced them. Default `retentionRevisionsMax`. */
  readonly retentionRevisionsMax?: number;
  /** How long they are kept. Default `retentionMs`. */
  readonly retentionMs?: number;
  /** How many bytes of them are kept. Default `retentionBytesMax`. */
  readonly retentionBytesMax?: number;
  /** Changes that one step of a compaction looks at. Default `compactionKeysMax`. */
  readonly compactionKeysMax?: number;
  /** Changes of a job that are also kept in memory, for readers that are little behind. Default `memoryRevisionsMax`. */
  readonly memoryRevisionsMax?: number;
  /** Views of the store that are open at once; others wait. Default `openSnapshotsMax`. */
  readonly openSnapshotsMax?: number;
}

export type EncodedResult = Readonly<{
  applied: boolean;
  duplicate: boolean;
  /** A State message: what was written, or what is there if `applied` is false. */
  state: Uint8Array;
}>;

type Signal = AbortSignal | undefined;

/** A job at rest is looked at this often: its changes grow older than retention too, and its readers leave. */
const SWEEP_MS = 60_000;
/** One job's recent changes take at most this part of the cache. */
const RINGS_PER_CACHE = 16;
const INCARNATION_BYTES = 8;

export class JobEngine {
  readonly adapter: StoreAdapter;
  readonly #deps: EngineDeps;
  readonly #retention: RetentionOptions;
  readonly #ring: { readonly changesMax: number; readonly bytesMax: number };
  readonly #generation: number;
  readonly #jobs: JobCache;
  readonly #commits: Commits;
  readonly #reads: JobReads;
  readonly #leases: Leases;
  readonly #compaction: Compaction;
  readonly #quota: SubscriberQuota;
  #sweep: Timer | undefined;
  #closing: Promise<void> | undefined;

  constructor(adapter: StoreAdapter, deps: EngineDeps, options: EngineOptions, start: StoreStart) {
    const { metrics } = deps;
    const cacheBytesMax = options.cacheBytesMax ?? jobsLimits.cacheBytesMax.value;
    this.adapter = adapter;
    this.#deps = deps;
    this.#retention = {
      revisionsMax: options.retentionRevisionsMax ?? jobsLimits.retentionRevisionsMax.value,
      ageMs: options.retentionMs ?? jobsLimits.retentionMs.value,
      bytesMax: options.retentionBytesMax ?? jobsLimits.retentionBytesMax.value,
    };
    this.#ring = {
      changesMax: options.memoryRevisionsMax ?? jobsLimits.memoryRevisionsMax.value,
      bytesMax: Math.floor(cacheBytesMax / RINGS_PER_CACHE),
    };
    this.#generation = start.generation;
    this.#quota = new SubscriberQuota(metrics);
    const load = (jobId: string) => this.#load(jobId);
    this.#jobs = new JobCache({ metrics, load }, cacheBytesMax);
    const shared = { ...deps, adapter, jobs: this.#jobs, commits: () => this.#commits };
    this.#leases = new Leases(shared, start);
    this.#compaction = new Compaction(
      shared,
      options.compactionKeysMax ?? jobsLimits.compactionKeysMax.value,
    );
    this.#commits = new Commits(
      {
        ...shared,
        onApplied: (staged) => this.#leases.follow(staged),
        onPublished: ({ job, isDeleted }) => {
          if (!isDeleted) this.#compaction.consider(job);
        },
      },
      this.#retention,
      start,
    );
    this.#reads = new JobReads(
      { ...shared, commits: this.#commits },
      options.openSnapshotsMax ?? jobsLimits.openSnapshotsMax.value,
    );
    this.#planSweep();
  }

  /** What the adapter may ask for. */
  get host(): AdapterHost {
    return {
      wake: (jobId) => void this.#wake(jobId),
      followed: () =>
        [...this.#jobs.values()]
          .filter(({ feed }) => (feed?.subscribersCount ?? 0) > 0)
          .map(({ row: { jobId, incarnation }, head: { revision } }) => {
            return { jobId, incarnation, revision };
          }),
      markStale: (stale) => {
        for (const { feed } of this.#jobs.values()) feed?.markStale(stale);
      },
      markLive: () => {
        for (const { feed } of this.#jobs.values()) feed?.markLive();
      },
    };
  }

  async createJob(spec: Required<JobSpec>, signal: Signal) {
    const { clock, random } = this.#deps;
    return this.#commit(
      spec.jobId,
      (batch, staged): { readonly job: JobInfo; readonly created: boolean } => {
        const decision = decideCreate(staged && { job: staged.row, head: staged.head }, spec, {
          incarnation: Buffer.from(random.bytes(INCARNATION_BYTES)).toString('hex'),
          jobsCount: batch.jobsCount,
          nowMs: clock.nowMs(),
        });
        if (decision.kind === 'refused') throw decision.error;
        if (decision.kind === 'unchanged') return { job: decision.info, created: false };
        const counts = new CellCounts(spec.numTasks);
        const head = { revision: 0, timestampMs: 0, compactedTo: 0, logRecords: 0, counts };
        const rows = { row: decision.job, head, tasks: [], cells: [], handle: undefined };
        batch.add(new JobMirror(rows, this.#retention), 'create').stage(decision);
        batch.requireSynced();
        return { job: decision.info, created: true };
      },
      { signal },
    );
  }

  updateJob(meant: MeantJob, patch: JobPatch, signal: Signal): Promise<JobInfo> {
    return this.#commit(
      meant.jobId,
      (batch, staged) => {
        const rows = staged && { job: staged.row, head: staged.head, tags: staged };
        const decision = decideUpdate(rows, { ...meant, patch }, this.#deps.clock.nowMs());
        if (decision.kind === 'refused') throw decision.error;
        staged?.stage(decision);
        batch.requireSynced();
        return decision.info;
      },
      { signal },
    );
  }

  markJobDeleted(meant: MeantJob, signal: Signal): Promise<JobInfo> {
    return this.#commit(
      meant.jobId,
      (batch, staged) => {
        const rows = staged && { job: staged.row, head: staged.head };
        const decision = decideMark(rows, meant, this.#deps.clock.nowMs());
        if (decision.kind === 'refused') throw decision.error;
        if (decision.kind === 'unchanged') return decision.info;
        staged?.stage(decision);
        batch.requireSynced();
        return decision.info;
      },
      { signal },
    );
  }

  /** Undefined: there was none. Otherwise the last revision that it had, 0 if that cannot be read. */
  async deleteJob(
    { jobId, incarnation, ifRevision }: MeantJob & { readonly ifRevision?: number | undefined },
    signal: Signal,
  ): Promise<number | undefined> {
    try {
      return await this.#commit(
        jobId,
        (batch, staged) => {
          if (!staged) return undefined;
          const refusal = otherJobRefusal(staged.row, incarnation);
          if (refusal) throw refusal;
          const { revision } = staged.head;
          if (ifRevision !== undefined && ifRevision !== revision)
            throw movedOn(jobId, revision, ifRevision);
          staged.isDeleted = true;
          batch.requireSynced();
          return revision;
        },
        { signal },
      );
    } catch (thrown) {
      const { deleteDamaged } = this.adapter;
      const isCorrupt = thrown instanceof SynclineError && thrown.code === 'corrupt';
      if (!isCorrupt || !deleteDamaged) throw thrown;
      const deleted = await deleteDamaged.call(this.adapter, jobId, incarnation);
      if (deleted) this.#commits.noteDeleted();
      if (deleted?.incarnation !== undefined) this.#leases.forgetJob(deleted.incarnation);
      return deleted ? 0 : undefined;
    }
  }

  async lease(request: LeaseRequest, signal: Signal): Promise<TaskLease> {
    const { jobId, incarnation, taskId } = request;
    const renewed = request.action === 'renew' ? await this.#renew(request) : undefined;
    const lease =
      renewed ??
      (await this.#commit(
        jobId,
        (batch, staged) => {
          const rows = staged && {
            job: staged.row,
            head: staged.head,
            task: staged.taskOf(taskId),
          };
          const decision = decideLease(rows, request, this.#deps.clock.nowMs());
          if (decision.kind === 'refused') throw decision.error;
          if (decision.kind === 'unchanged') return decision.lease;
          staged?.stage(decision);
          batch.requireSynced();
          return decision.lease;
        },
        { signal },
      ));
    if (lease.state === 'held') this.#leases.extend(incarnation, taskId);
    return lease;
  }

  setState(write: CheckedWrite, signal: Signal): Promise<EncodedResult> {
    const { jobId, taskId, tag } = write;
    const decide = (batch: CommitBatch, staged: StagedJob | undefined): EncodedResult => {
      const cell = staged && this.#cellOf(batch, staged, taskId, tag);
      const rows = staged && {
        job: staged.row,
        head: staged.head,
        task: staged.taskOf(taskId),
        cell,
        tags: staged,
      };
      const decision = decideSetState(rows, write, this.#deps.clock.nowMs());
      switch (decision.kind) {
        case 'refused':
          throw decision.error;
        case 'duplicate':
          return { applied: true, duplicate: true, state: encodeState(decision.state) };
        case 'version': {
          const state = staged && cell && currentState(batch, staged, { taskId, tag });
          const current = state ?? encodeState(defaultState(jobId, taskId, tag));
          return { applied: false, duplicate: false, state: current };
        }
        case 'apply': {
          const isBuffered = write.durability === 'buffered';
          if (!isBuffered || decision.task) batch.requireSynced();
          staged?.stage(decision, { taskId, tag, row: decision.cell, isBuffered });
          const state = staged?.changes.at(-1)?.bytes ?? encodeState(decision.state);
          return { applied: true, duplicate: false, state };
        }
      }
    };
    return this.#commit(jobId, decide, { bytes: write.bytes, cell: { taskId, tag }, signal });
  }

  async getJob(jobId: string, signal: Signal): Promise<JobInfo | undefined> {
    return this.#read(jobId, signal, async (job) => job && jobInfoOf(job.row, job.head));
  }

  listJobs(query: CheckedJobQuery): Promise<JobList> {
    return this.#reads.list(query);
  }

  listStates(
    jobId: string,
    scope: Scope,
    {
      afterRevision,
      limit,
      signal,
    }: Readonly<{ afterRevision: number; limit: number; signal: Signal }>,
  ): Promise<EncodedPage> {
    return this.#readKnown(jobId, signal, (job) => {
      const checked = checkScope(scope, job.row.numTasks);
      return this.#reads.page(job, checked, { afterRevision, limit, signal });
    });
  }

  getState(
    jobId: string,
    { taskId, tag, signal }: Readonly<{ taskId: number; tag: string; signal: Signal }>,
  ): Promise<Uint8Array | undefined> {
    return this.#readKnown(jobId, signal, (job) =>
      this.#reads.state(job, checkTaskId(taskId, job.row.numTasks), tag),
    );
  }

  /** Job, progress and lost leases of one moment. */
  progress(jobId: string, scope: Scope, signal: Signal): Promise<JobProgress> {
    return this.#readKnown(jobId, signal, (job) =>
      this.#reads.progress(job, checkScope(scope, job.row.numTasks)),
    );
  }

  subscribe<E>(
    jobId: string,
    options: StoreSubscribeOptions,
    convert: (event: EncodedEvent) => E,
  ): JobSubscription<E> {
    const open = () =>
      this.#readKnown(checkJobId(jobId), undefined, async (job) => {
        const scope = checkScope(options.scope, job.row.numTasks);
        return this.#feedOf(job).subscribe({ ...options, scope });
      });
    return storeSubscription(open, options, convert);
  }

  status() {
    return {
      jobs: this.#commits.jobsCount,
      loadedJobs: this.#jobs.count,
      cacheBytes: this.#jobs.bytes,
      writeQueue: this.#commits.waitingCount,
      writeQueueBytes: this.#commits.waitingBytes,
      subscribers: this.#quota.count,
      openSnapshots: this.#reads.openSnapshotsCount,
      logRecords: this.#commits.logRecords,
      ...this.adapter.status?.(),
    };
  }

  /** Throws `closed` or `aborted`. */
  begin(signal: Signal): void {
    if (this.#closing) throw new SynclineError('closed', 'the job store is closed');
    if (signal?.aborted) throw abortedError('the call to the job store', signal);
  }

  /** Answers what is in flight, ends the subscriptions, and waits for reads in progress. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#sweep?.cancel();
    this.#commits.close();
    await Promise.all([this.#compaction.stop(), this.#leases.close()]);
    await this.#commits.idle();
    for (const job of this.#jobs.values()) job.feed?.close();
    await this.#reads.whenDone();
    await this.adapter.close();
  }

  async #load(jobId: string): Promise<JobMirror | undefined> {
    for (;;) {
      await this.adapter.whenReadable?.();
      try {
        const rows = await this.adapter.loadJob(jobId);
        return rows && new JobMirror(rows, this.#retention);
      } catch (thrown) {
        // A store that is being opened again is waited for.
        const canWait = this.adapter.whenReadable !== undefined;
        if (!canWait || !(thrown instanceof SynclineError) || thrown.code !== 'unavailable')
          throw thrown;
      }
    }
  }

  async #commit<T>(
    jobId: string,
    decide: (batch: CommitBatch, staged: StagedJob | undefined) => T,
    options: CommitOptions,
  ): Promise<T> {
    try {
      return await this.#commits.run(jobId, decide, options);
    } catch (thrown) {
      if (thrown instanceof SynclineError && thrown.code === 'fenced')
        this.#deps.metrics.add('syncline_jobs_fenced_total');
      throw thrown;
    }
  }

  async #read<T>(
    jobId: string,
    signal: Signal,
    read: (job: JobMirror | undefined) => Promise<T>,
  ): Promise<T> {
    this.begin(signal);
    const { shared } = this.adapter;
    const isLoaded = this.#jobs.peek(jobId) !== undefined;
    const { job } = await this.#jobs.pinToRead(jobId);
    try {
      this.begin(signal);
      if (job && shared && isLoaded) this.#commits.follow(job, await shared.changesAfter(job));
      return await read(job?.isDeleted ? undefined : job);
    } finally {
      if (job) job.pins -= 1;
    }
  }

  #readKnown<T>(jobId: string, signal: Signal, read: (job: JobMirror) => Promise<T>): Promise<T> {
    return this.#read(jobId, signal, (job) => {
      if (!job) throw noSuchJob(jobId);
      return read(job);
    });
  }

  /** A renewal of what is held takes no revision. Undefined: it changes something, or the job is not in memory. */
  async #renew(request: LeaseRequest): Promise<TaskLease | undefined> {
    const { jobId, incarnation, taskId } = request;
    const { shared } = this.adapter;
    if (this.#leases.isBeingLost(incarnation, taskId)) return undefined;
    const job = this.#jobs.touch(jobId);
    if (!job) return undefined;
    if (shared) this.#commits.follow(job, await shared.changesAfter(job));
    if (job.isDeleted) return undefined;
    job.damage.checkTask(taskId);
    const rows = { job: job.row, head: headRowOf(job), task: job.tasks.get(taskId) };
    const decision = decideLease(rows, request, this.#deps.clock.nowMs());
    if (decision.kind !== 'unchanged') return undefined;
    if (decision.lease.state === 'held') await shared?.renewed(job, taskId);
    return decision.lease;
  }

  #cellOf(batch: CommitBatch, staged: StagedJob, taskId: number, tag: string) {
    staged.job.damage.checkScope({ taskId, tag });
    const found = staged.stagedCell(taskId, tag);
    if (found || staged.job.cells.revisionOf(taskId, tag) === 0) return found;
    return batch.rows.cell(staged.job, taskId, tag);
  }

  async #wake(jobId: string): Promise<void> {
    const { shared } = this.adapter;
    const job = this.#jobs.peek(jobId);
    if (!shared || !job || this.#closing) return;
    job.pins += 1;
    try {
      this.#commits.follow(job, await shared.changesAfter(job));
    } catch (thrown) {
      const { code } = SynclineError.from(thrown);
      this.#deps.logger.debug('changes of a job could not be read', { jobId, error: code });
    } finally {
      job.pins -= 1;
    }
  }

  #feedOf(job: JobMirror): JobFeed {
    const { jobId, incarnation } = job.row;
    const generation = this.#generation === 0 ? '' : `-${this.#generation}`;
    job.feed ??= new JobFeed(
      {
        ...this.#deps,
        quota: this.#quota,
        source: {
          revision: () => job.head.revision,
          view: (filter, signal) => this.#reads.view(job, filter, signal),
        },
      },
      {
        jobId,
        base: `${incarnation}${generation}`,
        history: this.adapter.capabilities.history,
        ringChangesMax: this.#ring.changesMax,
        ringBytesMax: this.#ring.bytesMax,
      },
    );
    return job.feed;
  }

  #planSweep(): void {
    const sweep = () => {
      for (const job of this.#jobs.values()) {
        this.#compaction.consider(job, 1);
        this.#dropIdleFeed(job);
      }
      this.#planSweep();
    };
    this.#sweep = this.#deps.clock.setTimer(SWEEP_MS, sweep, { unref: true });
  }

  /** Some time after the last subscriber: one that only lost its connection finds the newest changes in memory. */
  #dropIdleFeed(job: JobMirror): void {
    if (job.feed?.subscribersCount !== 0) return;
    job.feed.close();
    job.feed = undefined;
    this.#jobs.changed(job);
  }
}

function headRowOf({ head: { revision, timestampMs, counts } }: JobMirror) {
  return { revision, timestampMs, statesCount: counts.total };
}

/** The State message of a written cell, as the commit sees it. */
function currentState(
  batch: CommitBatch,
  staged: StagedJob,
  { taskId, tag }: { readonly taskId: number; readonly tag: string },
): Uint8Array {
  const isSame = (change: { kind: string; taskId: number; tag: string }) =>
    change.kind === 'state' && change.taskId === taskId && change.tag === tag;
  return staged.changes.findLast(isSame)?.bytes ?? batch.rows.state(staged.job, taskId, tag);
}

function movedOn(jobId: string, revision: number, wanted: number): SynclineError {
  return new SynclineError(
    'conflict',
    `job "${jobId}" is at revision ${revision}, not ${wanted}: it was changed meanwhile`,
    { details: { reason: 'revision', revision } },
  );
}
