// The port of the embedded store: checks what comes in and hands it to the engine.
import { abortedError, SynclineError } from '@syncline/kernel';
import { checkJobPatch, checkJobQuery, checkJobSpec } from '../checks/job-input.js';
import { checkCount, checkPageLimit, checkTaskId } from '../checks/numbers.js';
import { checkLeaseRequest, checkScope, checkStateWrite } from '../checks/task-input.js';
import { checkJobId, checkTag } from '../checks/text.js';
import { decideLease } from '../core/decide-lease.js';
import { noSuchJob } from '../core/refusals.js';
import { jobInfoOf } from '../core/views.js';
import type { JobInfo, JobPatch, JobQuery, JobSpec, LeaseRequest, TaskLease } from '../job.js';
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
import type { Scope, State } from '../state.js';
import { StoreReports } from '../store-reports.js';
import { deferSubscription } from '../subscription/deferred-subscription.js';
import type { CommitOptions, EmbeddedEngine, EmbeddedJobStoreDeps } from './embedded-engine.js';
import type { EmbeddedJobStoreStatus } from './embedded-status.js';
import type { LoadedJob } from './loaded-job.js';
import { isCorrupt } from './read-rows.js';
import type { StagedBatch } from './staged-batch.js';

/** What a write takes in the queue and in a batch besides its texts, about. */
const WRITE_BYTES = 1_024;

export class EmbeddedJobStore implements JobStore {
  readonly capabilities: StoreCapabilities = {
    history: 'all',
    reads: 'linearizable',
    durability: 'synced',
    lost: 'store',
  };
  readonly observer: JobsMetrics;
  readonly #deps: EmbeddedJobStoreDeps;
  readonly #engine: EmbeddedEngine;
  readonly #reports: StoreReports;
  #closing: Promise<void> | undefined;

  constructor(deps: EmbeddedJobStoreDeps, engine: EmbeddedEngine) {
    this.observer = deps.metrics;
    this.#deps = deps;
    this.#engine = engine;
    this.#reports = new StoreReports(deps);
  }

  async createJob(spec: JobSpec, { signal }: CallOptions = {}) {
    this.#begin(signal);
    const checked = checkJobSpec(spec);
    const { writes } = this.#engine;
    return this.#commit(checked.jobId, (batch) => writes.create(batch, checked), { signal });
  }

  async getJob(jobId: string, { signal }: CallOptions = {}): Promise<JobInfo | undefined> {
    this.#begin(signal);
    const job = await this.#engine.jobs.pinToRead(checkJobId(jobId));
    if (!job) return undefined;
    job.pins -= 1;
    return jobInfoOf(job.row, job.head);
  }

  async listJobs(query: JobQuery, { signal }: CallOptions = {}) {
    this.#begin(signal);
    return this.#engine.reads.list(checkJobQuery(query));
  }

  async updateJob(jobId: string, patch: JobPatch, call: JobCallOptions = {}): Promise<JobInfo> {
    const { signal, incarnation } = call;
    this.#begin(signal);
    const checked = checkJobPatch(patch);
    const { writes } = this.#engine;
    const decide = (batch: StagedBatch) => writes.update(batch, { jobId, incarnation }, checked);
    return this.#commit(checkJobId(jobId), decide, { signal });
  }

  async markJobDeleted(jobId: string, call: JobCallOptions = {}): Promise<JobInfo> {
    const { signal, incarnation } = call;
    this.#begin(signal);
    const { writes } = this.#engine;
    const decide = (batch: StagedBatch) => writes.mark(batch, { jobId, incarnation });
    return this.#commit(checkJobId(jobId), decide, { signal });
  }

  async deleteJob(jobId: string, call: JobCallOptions = {}): Promise<boolean> {
    const { signal, incarnation } = call;
    this.#begin(signal);
    const { writes } = this.#engine;
    const meant = { jobId: checkJobId(jobId), incarnation };
    try {
      return await this.#commit(jobId, (batch) => writes.remove(batch, meant), { signal });
    } catch (thrown) {
      if (!isCorrupt(thrown)) throw thrown;
      const decide = (batch: StagedBatch) => writes.removeDamaged(batch, meant);
      return this.#engine.commitUnloaded(decide, { signal });
    }
  }

  async lease(request: LeaseRequest, { signal }: CallOptions = {}): Promise<TaskLease> {
    this.#begin(signal);
    const checked = checkLeaseRequest(request);
    const { writes, leases } = this.#engine;
    const decide = (batch: StagedBatch) => writes.lease(batch, checked);
    const lease =
      this.#renewInMemory(checked) ?? (await this.#commit(checked.jobId, decide, { signal }));
    if (lease.state === 'held') leases.extend(checked.incarnation, checked.taskId);
    return lease;
  }

  async setState(write: StateWrite, { signal }: CallOptions = {}): Promise<SetStateResult> {
    return this.#reports.write(async () => {
      this.#begin(signal);
      const checked = checkStateWrite(write);
      const { writes } = this.#engine;
      const decide = (batch: StagedBatch) => writes.setState(batch, checked);
      return this.#commit(checked.jobId, decide, { bytes: bytesOf(checked), signal });
    });
  }

  async listStates(
    jobId: string,
    scope: Scope,
    page: { readonly afterRevision: number; readonly limit: number },
    { signal }: CallOptions = {},
  ): Promise<StatePage> {
    const afterRevision = checkCount(page.afterRevision, 'afterRevision');
    const limit = checkPageLimit(page.limit, jobsLimits.listStatesMax.value);
    return this.#withJob(jobId, signal, (job) => {
      const checked = checkScope(scope, job.row.numTasks);
      return this.#engine.reads.page(job, checked, { afterRevision, limit, signal });
    });
  }

  async getState(
    jobId: string,
    taskId: number,
    tag: string,
    { signal }: CallOptions = {},
  ): Promise<State | undefined> {
    return this.#withJob(jobId, signal, (job) =>
      this.#engine.reads.state(job, checkTaskId(taskId, job.row.numTasks), checkTag(tag)),
    );
  }

  async aggregate(jobId: string, scope: Scope, { signal }: CallOptions = {}): Promise<Progress> {
    return this.#withJob(jobId, signal, (job) =>
      this.#engine.reads.progress(job, checkScope(scope, job.row.numTasks)),
    );
  }

  async listLost(jobId: string, { signal }: CallOptions = {}): Promise<readonly TaskLease[]> {
    return this.#withJob(jobId, signal, async (job) => this.#engine.reads.lost(job));
  }

  subscribe(jobId: string, options: StoreSubscribeOptions): JobSubscription {
    const open = () =>
      this.#withJob(jobId, undefined, async (job) => {
        const scope = checkScope(options.scope, job.row.numTasks);
        return this.#engine.feedOf(job).subscribe({ ...options, scope });
      });
    return deferSubscription(open, options);
  }

  status(): EmbeddedJobStoreStatus {
    return this.#engine.status();
  }

  close(): Promise<void> {
    this.#closing ??= this.#engine.close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #begin(signal: AbortSignal | undefined): void {
    if (this.#closing) throw new SynclineError('closed', 'the job store is closed');
    if (signal?.aborted) throw abortedError('the call to the job store', signal);
  }

  async #withJob<T>(
    jobId: string,
    signal: AbortSignal | undefined,
    read: (job: LoadedJob) => Promise<T>,
  ): Promise<T> {
    this.#begin(signal);
    const job = await this.#engine.jobs.pinToRead(checkJobId(jobId));
    if (!job) throw noSuchJob(jobId);
    try {
      this.#begin(signal);
      if (job.isDeleted) throw noSuchJob(jobId); // meanwhile
      return await read(job);
    } finally {
      job.pins -= 1;
    }
  }

  /** A renewal of what is held touches no disk. Undefined: it changes something, or the job is not in memory. */
  #renewInMemory(request: LeaseRequest): TaskLease | undefined {
    if (request.action !== 'renew') return undefined;
    const { lostLeases } = this.#engine;
    if (lostLeases.isInFlight(request.incarnation, request.taskId)) return undefined;
    const job = this.#engine.jobs.touch(request.jobId);
    if (!job) return undefined;
    job.damage.checkTask(request.taskId);
    const rows = { job: job.row, head: job.head, task: job.tasks.get(request.taskId) };
    const decision = decideLease(rows, request, this.#deps.clock.nowMs());
    return decision.kind === 'unchanged' ? decision.lease : undefined;
  }

  async #commit<T>(
    jobId: string,
    decide: (batch: StagedBatch) => T,
    options: CommitOptions,
  ): Promise<T> {
    try {
      return await this.#engine.commit(jobId, decide, options);
    } catch (thrown) {
      if (thrown instanceof SynclineError) this.#reports.refused(thrown);
      throw thrown;
    }
  }
}

function bytesOf({ message, payload }: StateWrite): number {
  const payloadBytes = payload === undefined ? 0 : Buffer.byteLength(JSON.stringify(payload));
  return WRITE_BYTES + Buffer.byteLength(message) + payloadBytes;
}
