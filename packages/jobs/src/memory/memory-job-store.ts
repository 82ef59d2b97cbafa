// The jobs of one process, in memory: for tests, for `--memory`, and for whoever needs no more.
//
// Each call runs from check to answer without waiting, so calls take effect one after the other, in the order
// in which they were made. Everything is gone with the process.
import {
  abortedError,
  type Clock,
  type Logger,
  type Random,
  SynclineError,
} from '@syncline/kernel';
import { checkJobPatch, checkJobQuery, checkJobSpec } from '../checks/job-input.js';
import { checkCount, checkPageLimit, checkTaskId } from '../checks/numbers.js';
import { checkLeaseRequest, checkScope, checkStateWrite } from '../checks/task-input.js';
import { checkJobId, checkTag } from '../checks/text.js';
import { decideCreate, decideMark, decideUpdate } from '../core/decide-job.js';
import { decideLease } from '../core/decide-lease.js';
import { decideSetState } from '../core/decide-set-state.js';
import { isNameWanted, isSummaryWanted } from '../core/job-query.js';
import { noSuchJob, otherJobRefusal } from '../core/refusals.js';
import type {
  JobInfo,
  JobPatch,
  JobQuery,
  JobSpec,
  JobSummary,
  LeaseRequest,
  TaskLease,
} from '../job.js';
import type { JobSubscription, StoreSubscribeOptions } from '../job-event.js';
import type {
  CallOptions,
  JobCallOptions,
  JobStore,
  SetStateResult,
  StatePage,
  StateWrite,
  StoreCapabilities,
} from '../job-store.js';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { Progress } from '../progress.js';
import { defaultState, type Scope, type State } from '../state.js';
import { StoreReports } from '../store-reports.js';
import { deferSubscription } from '../subscription/deferred-subscription.js';
import { SubscriberQuota } from '../subscription/subscriber-quota.js';
import { MemoryJob } from './memory-job.js';
import { MemoryLeases } from './memory-leases.js';

export interface MemoryJobStoreDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: JobsMetrics;
}

export interface MemoryJobStoreOptions {
  /** Changes of a job that are kept for readers who are behind. Default `memoryRevisionsMax`. */
  readonly revisionsMax?: number;
}

export class MemoryJobStore implements JobStore {
  readonly capabilities: StoreCapabilities = {
    history: 'all',
    reads: 'linearizable',
    durability: 'none',
    lost: 'store',
  };
  readonly observer: JobsMetrics;
  readonly #deps: MemoryJobStoreDeps;
  readonly #revisionsMax: number;
  readonly #quota: SubscriberQuota;
  readonly #reports: StoreReports;
  readonly #leases: MemoryLeases;
  readonly #jobs = new Map<string, MemoryJob>();
  #isClosed = false;

  constructor(deps: MemoryJobStoreDeps, options: MemoryJobStoreOptions) {
    this.observer = deps.metrics;
    this.#deps = deps;
    this.#revisionsMax = options.revisionsMax ?? jobsLimits.memoryRevisionsMax.value;
    this.#quota = new SubscriberQuota(deps.metrics);
    this.#reports = new StoreReports(deps);
    const { clock } = deps;
    const jobOf = (jobId: string) => this.#jobs.get(jobId);
    this.#leases = new MemoryLeases({ clock, reports: this.#reports, jobOf });
  }

  async createJob(spec: JobSpec, call?: CallOptions) {
    this.#begin(call);
    const checked = checkJobSpec(spec);
    const present = this.#jobs.get(checked.jobId);
    const decision = decideCreate(present?.rows, checked, {
      incarnation: Buffer.from(this.#deps.random.bytes(8)).toString('hex'),
      jobsCount: this.#jobs.size,
      nowMs: this.#deps.clock.nowMs(),
    });
    if (decision.kind === 'refused') throw decision.error;
    if (decision.kind === 'unchanged') return { job: decision.info, created: false };
    const { clock, metrics } = this.#deps;
    const feedDeps = { clock, metrics, quota: this.#quota };
    const job = new MemoryJob(feedDeps, decision, this.#revisionsMax);
    this.#jobs.set(checked.jobId, job);
    this.#countJobs();
    return { job: decision.info, created: true };
  }

  async getJob(jobId: string, call?: CallOptions): Promise<JobInfo | undefined> {
    this.#begin(call);
    return this.#jobs.get(checkJobId(jobId))?.info;
  }

  async listJobs(query: JobQuery, call?: CallOptions) {
    this.#begin(call);
    const checked = checkJobQuery(query);
    const jobs: JobSummary[] = [];
    for (const jobId of [...this.#jobs.keys()].sort()) {
      const summary = isNameWanted(checked, jobId) && this.#jobs.get(jobId)?.summary;
      if (!summary || !isSummaryWanted(checked, summary)) continue;
      const last = jobs.at(-1);
      if (last && jobs.length === checked.limit) return { jobs, next: last.job.jobId };
      jobs.push(summary);
    }
    return { jobs };
  }

  async updateJob(jobId: string, patch: JobPatch, call?: JobCallOptions): Promise<JobInfo> {
    this.#begin(call);
    const job = this.#jobs.get(checkJobId(jobId));
    const request = { jobId, patch: checkJobPatch(patch), incarnation: call?.incarnation };
    const decision = decideUpdate(job?.rows, request, this.#deps.clock.nowMs());
    if (decision.kind === 'refused') throw decision.error;
    job?.commit(decision);
    this.#leases.recheck(decision.job.incarnation);
    return decision.info;
  }

  async markJobDeleted(jobId: string, call?: JobCallOptions): Promise<JobInfo> {
    this.#begin(call);
    const job = this.#jobs.get(checkJobId(jobId));
    const meant = { jobId, incarnation: call?.incarnation };
    const decision = decideMark(job?.rows, meant, this.#deps.clock.nowMs());
    if (decision.kind === 'refused') throw decision.error;
    if (decision.kind === 'apply') job?.commit(decision);
    return decision.info;
  }

  async deleteJob(jobId: string, call?: JobCallOptions): Promise<boolean> {
    this.#begin(call);
    const job = this.#jobs.get(checkJobId(jobId));
    if (!job) return false;
    const refusal = otherJobRefusal(job.info, call?.incarnation);
    if (refusal) throw refusal;
    this.#jobs.delete(jobId);
    this.#leases.forgetJob(job.info.incarnation);
    job.feed.endDeleted();
    this.#countJobs();
    return true;
  }

  async lease(request: LeaseRequest, call?: CallOptions): Promise<TaskLease> {
    this.#begin(call);
    const checked = checkLeaseRequest(request);
    const job = this.#jobs.get(checked.jobId);
    const rows = job?.leaseRows(checked.taskId);
    const decision = decideLease(rows, checked, this.#deps.clock.nowMs());
    if (decision.kind === 'refused') throw this.#refused(decision.error);
    if (decision.kind === 'apply') job?.commit(decision);
    this.#leases.changed(checked, decision.lease);
    return decision.lease;
  }

  async setState(write: StateWrite, call?: CallOptions): Promise<SetStateResult> {
    return this.#reports.write(() => {
      this.#begin(call);
      return this.#set(checkStateWrite(write));
    });
  }

  async listStates(
    jobId: string,
    scope: Scope,
    page: { readonly afterRevision: number; readonly limit: number },
    call?: CallOptions,
  ): Promise<StatePage> {
    const job = this.#find(jobId, call);
    return job.page(checkScope(scope, job.info.numTasks), {
      afterRevision: checkCount(page.afterRevision, 'afterRevision'),
      limit: checkPageLimit(page.limit, jobsLimits.listStatesMax.value),
    });
  }

  async getState(
    jobId: string,
    taskId: number,
    tag: string,
    call?: CallOptions,
  ): Promise<State | undefined> {
    const job = this.#find(jobId, call);
    return job.stateOf(checkTaskId(taskId, job.info.numTasks), checkTag(tag));
  }

  async aggregate(jobId: string, scope: Scope, call?: CallOptions): Promise<Progress> {
    const job = this.#find(jobId, call);
    return job.progress(checkScope(scope, job.info.numTasks));
  }

  async listLost(jobId: string, call?: CallOptions): Promise<readonly TaskLease[]> {
    return this.#find(jobId, call).lost();
  }

  subscribe(jobId: string, options: StoreSubscribeOptions): JobSubscription {
    const open = () => {
      const job = this.#find(jobId, {});
      const scope = checkScope(options.scope, job.info.numTasks);
      return job.feed.subscribe({ ...options, scope });
    };
    return deferSubscription(open, options);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#leases.close();
    for (const job of this.#jobs.values()) job.feed.close();
    this.#jobs.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #begin({ signal }: CallOptions = {}): void {
    if (this.#isClosed) throw new SynclineError('closed', 'the job store is closed');
    if (signal?.aborted) throw abortedError('the call to the job store', signal);
  }

  #find(jobId: string, call: CallOptions | undefined): MemoryJob {
    this.#begin(call);
    const job = this.#jobs.get(checkJobId(jobId));
    if (!job) throw noSuchJob(jobId);
    return job;
  }

  #set(write: StateWrite): SetStateResult {
    const { jobId, taskId, tag, incarnation } = write;
    const job = this.#jobs.get(jobId);
    const decision = decideSetState(job?.rowsFor(taskId, tag), write, this.#deps.clock.nowMs());
    switch (decision.kind) {
      case 'refused':
        throw this.#refused(decision.error);
      case 'duplicate':
        return { applied: true, duplicate: true, state: decision.state };
      case 'version': {
        const current = job?.stateOf(taskId, tag) ?? defaultState(jobId, taskId, tag);
        return { applied: false, reason: 'version', current };
      }
      case 'apply':
        job?.commit(decision);
        if (decision.task) this.#leases.changed(write, decision.task);
        else this.#leases.extend(incarnation, taskId);
        return { applied: true, duplicate: false, state: decision.state };
    }
  }

  #refused(error: SynclineError): SynclineError {
    this.#reports.refused(error);
    return error;
  }

  #countJobs(): void {
    this.#deps.metrics.set('syncline_jobs_jobs', this.#jobs.size);
  }
}
