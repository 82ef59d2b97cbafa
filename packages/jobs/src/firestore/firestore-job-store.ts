// Jobs in Firestore: written in transactions, followed by a listener with a cache.
//
// A write goes through the queue of its job. A read comes from the cache if somebody listens to the job and the
// listener is live, and from Firestore otherwise. Reads are monotonic and see this store's own writes; writes of
// others may show later.
import type { Firestore } from '@google-cloud/firestore';
import {
  abortedError,
  type Clock,
  type Logger,
  type Random,
  SynclineError,
} from '@syncline/kernel';
import { checkStateWrite } from '../checks/checked-write.js';
import { checkJobPatch, checkJobQuery, checkJobSpec } from '../checks/job-input.js';
import { checkCount, checkPageLimit, checkTaskId } from '../checks/numbers.js';
import { checkLeaseRequest, checkScope } from '../checks/task-input.js';
import { checkJobId, checkTag } from '../checks/text.js';
import { noSuchJob } from '../core/refusals.js';
import { jobInfoOf } from '../core/views.js';
import { decodeEvent } from '../engine/feed-event.js';
import { SubscriberQuota } from '../engine/job-feed.js';
import { storeSubscription } from '../engine/store-subscription.js';
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
  DeleteOptions,
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
import type { Scope, State } from '../state.js';
import { type CreatedJob, createJob } from './create-job.js';
import { deleteJob } from './delete-job.js';
import { DirectReads } from './direct-reads.js';
import { JobDocuments } from './document-refs.js';
import { FirestoreCalls } from './firestore-calls.js';
import type { CheckedFirestoreOptions } from './firestore-options.js';
import type { JobCache } from './job-cache.js';
import type { JobOperation } from './job-operation.js';
import {
  leaseOperation,
  markJobOperation,
  setStateOperation,
  updateJobOperation,
} from './job-operations.js';
import { JobView } from './job-view.js';
import { JobViews } from './job-views.js';
import { JobWriters } from './job-writers.js';
import { renewLease } from './renew-lease.js';
import { StatePageBuilder } from './state-page.js';
import { StoreReports } from './store-reports.js';
import { whileWanted } from './while-wanted.js';

export interface FirestoreJobStoreDeps {
  /** The store closes it. */
  readonly firestore: Firestore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: JobsMetrics;
}

export class FirestoreJobStore implements JobStore {
  readonly capabilities: StoreCapabilities = {
    history: 'latest',
    reads: 'cached',
    durability: 'synced',
    lost: 'reader',
  };
  readonly observer: JobsMetrics;
  readonly #deps: FirestoreJobStoreDeps;
  readonly #calls: FirestoreCalls;
  readonly #reads: DirectReads;
  readonly #reports: StoreReports;
  readonly #writers: JobWriters;
  readonly #views: JobViews;
  #closing: Promise<void> | undefined;

  constructor(deps: FirestoreJobStoreDeps, options: CheckedFirestoreOptions) {
    const { firestore, metrics } = deps;
    const calls = new FirestoreCalls(deps, options);
    const quota = new SubscriberQuota(metrics);
    this.observer = deps.metrics;
    this.#deps = deps;
    this.#calls = calls;
    this.#reads = new DirectReads({ firestore, calls });
    this.#reports = new StoreReports(deps);
    this.#writers = new JobWriters({
      calls,
      metrics,
      firestore,
      onCommitted: (jobId, result) => this.#views.get(jobId)?.onCommitted(result),
    });
    this.#views = new JobViews({
      metrics,
      create: (job, hooks) => {
        const documents = this.#documents(job.jobId);
        const writer = () => this.#writers.of(job.jobId);
        const reports = this.#reports;
        return new JobView(
          { ...deps, calls, documents, writer, quota, reports, ...hooks },
          options,
          job,
        );
      },
    });
  }

  async createJob(spec: JobSpec, call?: CallOptions): Promise<CreatedJob> {
    this.#begin(call);
    const checked = checkJobSpec(spec);
    const creation = createJob({ ...this.#deps, calls: this.#calls }, checked);
    const created = await whileWanted(creation, call?.signal, 'unknown');
    this.#noteSeen(created.job);
    return created;
  }

  async getJob(jobId: string, call?: CallOptions): Promise<JobInfo | undefined> {
    this.#begin(call);
    const cache = this.#cached(checkJobId(jobId));
    if (cache) return cache.info;
    const record = await whileWanted(this.#reads.findJob(jobId), call?.signal);
    if (!record) return undefined;
    const job = jobInfoOf(record.job, record.head);
    this.#noteSeen(job);
    return job;
  }

  async listJobs(
    query: JobQuery,
    call?: CallOptions,
  ): Promise<{ readonly jobs: readonly JobSummary[]; readonly next?: string }> {
    this.#begin(call);
    const page = await whileWanted(this.#reads.jobs(checkJobQuery(query)), call?.signal);
    for (const { job } of page.jobs) this.#noteSeen(job);
    return page;
  }

  async updateJob(jobId: string, patch: JobPatch, call?: JobCallOptions): Promise<JobInfo> {
    this.#begin(call);
    const meant = { jobId: checkJobId(jobId), incarnation: call?.incarnation };
    const operation = updateJobOperation(meant, checkJobPatch(patch));
    return this.#write(jobId, operation, call);
  }

  async markJobDeleted(jobId: string, call?: JobCallOptions): Promise<JobInfo> {
    this.#begin(call);
    const meant = { jobId: checkJobId(jobId), incarnation: call?.incarnation };
    return this.#write(jobId, markJobOperation(meant), call);
  }

  async deleteJob(jobId: string, call?: DeleteOptions): Promise<boolean> {
    this.#begin(call);
    if (call?.ifRevision !== undefined) {
      const record = await whileWanted(this.#reads.findJob(checkJobId(jobId)), call.signal);
      if (record && record.head.revision !== call.ifRevision)
        throw new SynclineError('conflict', `job "${jobId}" was changed meanwhile`, {
          details: { reason: 'revision', revision: record.head.revision },
        });
    }
    const documents = this.#documents(checkJobId(jobId));
    const deletion = deleteJob(this.#calls, documents, call?.incarnation);
    const incarnation = await whileWanted(deletion, call?.signal, 'unknown');
    if (incarnation === undefined) return false;
    this.#views.get(jobId)?.onDeleted(incarnation);
    return true;
  }

  async lease(request: LeaseRequest, call?: CallOptions): Promise<TaskLease> {
    this.#begin(call);
    const checked = checkLeaseRequest(request);
    try {
      const renewed = checked.action === 'renew' ? await this.#renew(checked, call) : undefined;
      return renewed ?? (await this.#write(checked.jobId, leaseOperation(checked), call));
    } catch (thrown) {
      this.#noteRefused(thrown);
      throw thrown;
    }
  }

  async setState(write: StateWrite, call?: CallOptions): Promise<SetStateResult> {
    return this.#reports.write(async () => {
      this.#begin(call);
      const checked = checkStateWrite(write);
      try {
        return await this.#write(checked.jobId, setStateOperation(checked), call);
      } catch (thrown) {
        this.#noteRefused(thrown);
        throw thrown;
      }
    });
  }

  async listStates(
    jobId: string,
    scope: Scope,
    page: { readonly afterRevision: number; readonly limit: number },
    call?: CallOptions,
  ): Promise<StatePage> {
    this.#begin(call);
    const bounds = {
      afterRevision: checkCount(page.afterRevision, 'afterRevision'),
      limit: checkPageLimit(page.limit, jobsLimits.listStatesMax.value),
    };
    const cache = this.#cached(checkJobId(jobId));
    if (cache) {
      const builder = new StatePageBuilder(checkScope(scope, cache.info.numTasks), bounds);
      for (const change of cache.view().above(bounds.afterRevision)) {
        if (builder.add(change) === 'full') break;
      }
      return builder.page(cache.incarnation, cache.revision);
    }
    const result = await whileWanted(this.#reads.page(jobId, scope, bounds), call?.signal);
    this.#views.get(jobId)?.noteSeen(result);
    return result;
  }

  async getState(
    jobId: string,
    taskId: number,
    tag: string,
    call?: CallOptions,
  ): Promise<State | undefined> {
    this.#begin(call);
    checkTag(tag);
    const cache = this.#cached(checkJobId(jobId));
    if (cache) return cache.stateOf(checkTaskId(taskId, cache.info.numTasks), tag);
    checkTaskId(taskId);
    const { record, state } = await whileWanted(
      this.#reads.state(jobId, taskId, tag),
      call?.signal,
    );
    checkTaskId(taskId, record.job.numTasks);
    this.#noteSeen(jobInfoOf(record.job, record.head));
    return state;
  }

  async aggregate(jobId: string, scope: Scope, call?: CallOptions): Promise<Progress> {
    const cache = await this.#listened(jobId, call);
    return cache.progress(checkScope(scope, cache.info.numTasks));
  }

  async listLost(jobId: string, call?: CallOptions): Promise<readonly TaskLease[]> {
    return (await this.#listened(jobId, call)).lost();
  }

  subscribe(jobId: string, options: StoreSubscribeOptions): JobSubscription {
    const open = async (signal: AbortSignal) => {
      this.#begin();
      const view = await whileWanted(this.#view(checkJobId(jobId)), signal);
      return view.feed.subscribe({ ...options, scope: checkScope(options.scope, view.numTasks) });
    };
    return storeSubscription(open, options, decodeEvent);
  }

  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** What is under way may take its time, at most that of its calls; nothing is tried again. */
  async #close(): Promise<void> {
    this.#calls.stopRetrying();
    await this.#views.close();
    await this.#writers.close();
    await this.#calls.close();
  }

  #begin({ signal }: CallOptions = {}): void {
    if (this.#closing) throw new SynclineError('closed', 'the job store is closed');
    if (signal?.aborted) throw abortedError('the call to the job store', signal);
  }

  #documents(jobId: string): JobDocuments {
    return new JobDocuments(this.#deps.firestore, jobId);
  }

  #write<T>(jobId: string, operation: JobOperation<T>, call?: CallOptions): Promise<T> {
    return this.#writers.of(jobId).run(operation, call?.signal);
  }

  /** Undefined: it takes a change of the job. */
  async #renew(request: LeaseRequest, call?: CallOptions): Promise<TaskLease | undefined> {
    const renew = async () => {
      const { jobId } = request;
      const record = await this.#reads.findJob(jobId);
      if (!record) throw noSuchJob(jobId);
      const deps = { calls: this.#calls, documents: this.#documents(jobId) };
      return renewLease(deps, record, request);
    };
    return whileWanted(renew(), call?.signal, 'unknown');
  }

  #cached(jobId: string): JobCache | undefined {
    const cache = this.#views.get(jobId)?.liveCache;
    this.#countRead(cache !== undefined);
    return cache;
  }

  /** What only a listener can answer: it is started if need be. */
  async #listened(jobId: string, call?: CallOptions): Promise<JobCache> {
    this.#begin(call);
    const isHit = this.#views.get(checkJobId(jobId))?.liveCache !== undefined;
    this.#countRead(isHit);
    for (;;) {
      const view = await whileWanted(this.#view(jobId), call?.signal);
      // It may have made room for another just now.
      if (!view.hasEnded) return view.read(call?.signal);
      this.#begin(call);
    }
  }

  async #view(jobId: string): Promise<JobView> {
    const known = this.#views.get(jobId);
    if (known) return known;
    const { job } = await this.#reads.job(jobId);
    this.#begin();
    return this.#views.open(job);
  }

  /** Later reads must not show less than an answer of ours has shown. */
  #noteSeen(job: JobInfo): void {
    this.#views.get(job.jobId)?.noteSeen(job);
  }

  #countRead(isHit: boolean): void {
    const name = isHit ? 'syncline_jobs_cache_hits_total' : 'syncline_jobs_cache_misses_total';
    this.#deps.metrics.add(name);
  }

  #noteRefused(thrown: unknown): void {
    if (thrown instanceof SynclineError) this.#reports.refused(thrown);
  }
}
