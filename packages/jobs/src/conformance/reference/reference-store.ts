// The reference store: slow, in memory, and simple enough to be obviously correct. Real stores are compared with it,
// and applications may test against it. It keeps every change of every job and recomputes each result.
import { setMaxListeners } from 'node:events';
import {
  abortedError,
  type Clock,
  createSystemClock,
  SynclineError,
  type Timer,
} from '@syncline/kernel';
import { checkStateWrite } from '../../checks/checked-write.js';
import {
  checkJobPatch,
  checkJobQuery,
  checkJobSpec,
  checkLeaseRequest,
  checkScope,
  checkSubscribeOptions,
} from '../../checks/input.js';
import { checkCount, checkJobId, checkPageLimit } from '../../checks/values.js';
import type {
  JobInfo,
  JobPatch,
  JobQuery,
  JobSpec,
  LeaseRequest,
  Progress,
  Scope,
  State,
  TaskLease,
} from '../../job.js';
import { statusClass } from '../../job.js';
import type {
  CallOptions,
  DeleteOptions,
  JobCallOptions,
  JobStore,
  JobSubscription,
  SetStateResult,
  StatePage,
  StateWrite,
  StoreSubscribeOptions,
} from '../../job-store.js';
import { jobsLimits } from '../../limits.js';
import { readCursor } from '../trace/cursor-parts.js';
import { ReferenceJob } from './reference-job.js';
import { ReferenceSubscription } from './reference-subscription.js';

/** How often a task whose deadline has passed is checked again: it may get work later. */
const LOST_CHECK_MS = 500;

export function createReferenceJobStore(deps: { readonly clock?: Clock } = {}): ReferenceJobStore {
  return new ReferenceJobStore(deps.clock ?? createSystemClock());
}

export class ReferenceJobStore implements JobStore {
  readonly capabilities = {
    history: 'all',
    reads: 'linearizable',
    durability: 'none',
    lost: 'store',
  } as const;
  readonly #clock: Clock;
  readonly #jobs = new Map<string, ReferenceJob>();
  /** By incarnation and task. */
  readonly #deadlines = new Map<string, Timer>();
  readonly #closed = new AbortController();
  #incarnationsCount = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    setMaxListeners(0, this.#closed.signal); // one per subscription
  }

  /** From now on subscribers that resume before the current revision get only the latest of each key. */
  compact(): void {
    for (const job of this.#jobs.values()) job.compactedTo = job.revision;
  }

  async createJob(spec: JobSpec, call?: CallOptions) {
    this.#check(call);
    const checked = checkJobSpec(spec);
    const existing = this.#jobs.get(spec.jobId);
    if (existing?.info().deletedAtMs !== undefined)
      throw new SynclineError('conflict', `job ${spec.jobId} is marked deleted`, {
        details: { reason: 'marked-deleted' },
      });
    if (existing) return { job: existing.info(), created: false };
    this.#incarnationsCount += 1;
    const job = new ReferenceJob(checked, `r${this.#incarnationsCount}`, this.#clock.nowMs());
    this.#jobs.set(spec.jobId, job);
    return { job: job.info(), created: true };
  }

  async getJob(jobId: string, call?: CallOptions): Promise<JobInfo | undefined> {
    this.#check(call);
    checkJobId(jobId);
    return this.#jobs.get(jobId)?.info();
  }

  async listJobs(query: JobQuery, call?: CallOptions) {
    this.#check(call);
    const { prefix = '', worst, afterJobId = '', limit } = checkJobQuery(query);
    const found = [...this.#jobs]
      .filter(([jobId]) => jobId.startsWith(prefix) && jobId > afterJobId)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([, job]) => ({ job: job.info(), progress: job.progress({}) }))
      .filter(({ progress }) => !worst || statusClass(progress.worst.status) === worst);
    const jobs = found.slice(0, limit).map(({ job, progress: { cells, percent, lostTasks } }) => ({
      job,
      cells,
      percent,
      lostTasks,
    }));
    const last = jobs.at(-1);
    return jobs.length < found.length && last ? { jobs, next: last.job.jobId } : { jobs };
  }

  async updateJob(jobId: string, patch: JobPatch, call?: JobCallOptions): Promise<JobInfo> {
    this.#check(call);
    return this.#findJob(jobId, call).update(checkJobPatch(patch), this.#clock.nowMs());
  }

  async markJobDeleted(jobId: string, call?: JobCallOptions): Promise<JobInfo> {
    this.#check(call);
    return this.#findJob(jobId, call).mark(this.#clock.nowMs());
  }

  async deleteJob(jobId: string, call?: DeleteOptions): Promise<boolean> {
    this.#check(call);
    checkJobId(jobId);
    if (!this.#jobs.has(jobId)) return false;
    const job = this.#findJob(jobId, call);
    const { ifRevision } = call ?? {};
    if (ifRevision !== undefined && job.info().revision !== ifRevision)
      throw new SynclineError('conflict', 'the job was changed', {
        details: { reason: 'revision' },
      });
    job.remove();
    return this.#jobs.delete(jobId);
  }

  async lease(request: LeaseRequest, call?: CallOptions): Promise<TaskLease> {
    this.#check(call);
    const checked = checkLeaseRequest(request);
    const job = this.#job(checked.jobId);
    const lease = job.lease(checked, this.#clock.nowMs());
    this.#watch(job, lease.taskId, lease.ttlMs);
    return lease;
  }

  async setState(write: StateWrite, call?: CallOptions): Promise<SetStateResult> {
    this.#check(call);
    const checked = checkStateWrite(write);
    const job = this.#job(checked.jobId);
    const result = job.setState(checked, this.#clock.nowMs());
    if (result.applied && !result.duplicate)
      this.#watch(job, write.taskId, job.leaseOf(write.taskId)?.ttlMs ?? 0);
    return result;
  }

  async listStates(
    jobId: string,
    scope: Scope,
    page: { readonly afterRevision: number; readonly limit: number },
    call?: CallOptions,
  ): Promise<StatePage> {
    this.#check(call);
    const job = this.#job(jobId);
    checkScope(scope, job.info().numTasks);
    const limit = checkPageLimit(page.limit, jobsLimits.listStatesMax.value);
    const afterRevision = checkCount(page.afterRevision, 'afterRevision');
    const all = job.states(scope).filter((state) => state.revision > afterRevision);
    const states = all.slice(0, limit);
    const more = states.length < all.length;
    const { incarnation } = job.info();
    const last = more ? (states.at(-1)?.revision ?? 0) : job.revision;
    const revision = Math.max(afterRevision, last);
    return { states, revision, incarnation, more };
  }

  async getState(
    jobId: string,
    taskId: number,
    tag: string,
    call?: CallOptions,
  ): Promise<State | undefined> {
    this.#check(call);
    const job = this.#job(jobId);
    checkScope({ taskId, tag }, job.info().numTasks);
    return job.states({ taskId, tag })[0];
  }

  async aggregate(jobId: string, scope: Scope, call?: CallOptions): Promise<Progress> {
    this.#check(call);
    const job = this.#job(jobId);
    checkScope(scope, job.info().numTasks);
    return job.progress(scope);
  }

  async listLost(jobId: string, call?: CallOptions): Promise<readonly TaskLease[]> {
    this.#check(call);
    return this.#job(jobId).lost().slice(0, jobsLimits.lostListMax.value);
  }

  subscribe(jobId: string, options: StoreSubscribeOptions): JobSubscription {
    const openJob = () => {
      this.#check();
      const job = this.#job(jobId);
      checkSubscribeOptions(options, job.info().numTasks);
      if (options.after !== undefined && !readCursor(options.after))
        throw new SynclineError('invalid-argument', `the cursor ${options.after} is malformed`, {
          details: { field: 'after' },
        });
      return job;
    };
    const deps = { clock: this.#clock, openJob, closed: this.#closed.signal };
    return new ReferenceSubscription(deps, options);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    for (const timer of this.#deadlines.values()) timer.cancel();
    this.#deadlines.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #check(call?: CallOptions): void {
    if (this.#closed.signal.aborted) throw new SynclineError('closed', 'the job store is closed');
    if (call?.signal?.aborted) throw abortedError('the call', call.signal);
  }

  #job(jobId: string): ReferenceJob {
    checkJobId(jobId);
    const job = this.#jobs.get(jobId);
    if (job) return job;
    throw new SynclineError('not-found', `no such job: ${jobId}`);
  }

  #findJob(jobId: string, { incarnation }: JobCallOptions = {}): ReferenceJob {
    const job = this.#job(jobId);
    if (incarnation === undefined || job.info().incarnation === incarnation) return job;
    throw new SynclineError('fenced', `job ${jobId} is another one by now`, {
      details: { reason: 'incarnation' },
    });
  }

  #watch(job: ReferenceJob, taskId: number, ttlMs: number): void {
    const name = `${job.info().incarnation} ${taskId}`;
    this.#deadlines.get(name)?.cancel();
    this.#deadlines.delete(name);
    if (ttlMs === 0 || job.isGone || job.leaseOf(taskId)?.state !== 'held') return;
    const look = () => {
      if (!job.expire(taskId, this.#clock.nowMs())) this.#watch(job, taskId, LOST_CHECK_MS);
    };
    this.#deadlines.set(name, this.#clock.setTimer(ttlMs, look, { unref: true }));
  }
}
