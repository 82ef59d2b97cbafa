// The store of one process, unchanged, with a history that records everything it reports: at the moment at which a
// client could receive it, and before any link can lose it.
import type {
  CallOptions,
  JobEvent,
  JobInfo,
  JobPatch,
  JobQuery,
  JobSpec,
  JobStore,
  JobSubscription,
  LeaseRequest,
  Progress,
  Scope,
  SetStateResult,
  State,
  StatePage,
  StateWrite,
  StoreSubscribeOptions,
  TaskLease,
} from '@syncline/jobs';
import type { Clock } from '@syncline/kernel';
import {
  incarnationOfPast,
  type JobsHistory,
  pastOfCursor,
  type StoreLife,
} from './jobs-history.js';
import type { LeaseTimes } from './lease-times.js';

export interface ObservedStoreDeps {
  readonly inner: JobStore;
  readonly clock: Clock;
  readonly history: JobsHistory;
  readonly life: StoreLife;
  readonly leases: LeaseTimes;
  readonly probe: (name: string) => void;
}

export class ObservedStore implements JobStore {
  readonly #deps: ObservedStoreDeps;

  constructor(deps: ObservedStoreDeps) {
    this.#deps = deps;
  }

  get capabilities() {
    return this.#deps.inner.capabilities;
  }

  async createJob(spec: JobSpec, call?: CallOptions) {
    const { inner, history, life } = this.#deps;
    const answer = await inner.createJob(spec, call);
    const { job, created } = answer;
    this.#observe(job);
    history.jobs.answered(job);
    if (created) {
      history.jobs.created(job);
      life.answers.push({ incarnation: job.incarnation, said: { job } });
    }
    return answer;
  }

  async getJob(jobId: string, call?: CallOptions): Promise<JobInfo | undefined> {
    const job = await this.#deps.inner.getJob(jobId, call);
    if (job) this.#observe(job);
    return job;
  }

  listJobs(query: JobQuery, call?: CallOptions) {
    return this.#deps.inner.listJobs(query, call);
  }

  async updateJob(jobId: string, patch: JobPatch, call?: CallOptions): Promise<JobInfo> {
    return this.#metadata(await this.#deps.inner.updateJob(jobId, patch, call));
  }

  async markJobDeleted(jobId: string, call?: CallOptions): Promise<JobInfo> {
    const job = await this.#deps.inner.markJobDeleted(jobId, call);
    this.#observe(job); // marking it again returns a later revision
    return job;
  }

  async deleteJob(jobId: string, call?: CallOptions): Promise<boolean> {
    const answered = this.#deps.history.jobs.deleting(jobId);
    let isDeleted = false;
    try {
      isDeleted = await this.#deps.inner.deleteJob(jobId, call);
      return isDeleted;
    } finally {
      answered(isDeleted);
    }
  }

  async lease(request: LeaseRequest, call?: CallOptions): Promise<TaskLease> {
    const { inner, history, life, leases, clock } = this.#deps;
    const { incarnation, action } = request;
    const fence = history.jobs.fence(request.jobId, request);
    const askedMs = clock.monotonicMs();
    const lease = await inner.lease(request, call);
    history.records.observed(incarnation, lease.revision, 'synced');
    if (action === 'claim') history.jobs.claimed(incarnation, lease);
    else history.jobs.passed(fence, request);
    if (lease.state === 'held') leases.renewed(incarnation, lease, askedMs);
    life.answers.push({ incarnation, said: { lease } });
    return lease;
  }

  async setState(write: StateWrite, call?: CallOptions): Promise<SetStateResult> {
    const { inner, history, life, leases, clock } = this.#deps;
    const { incarnation } = write;
    history.states.sent(write);
    const fence = history.jobs.fence(write.jobId, write);
    const askedMs = clock.monotonicMs();
    const result = await inner.setState(write, call);
    const state = result.applied ? result.state : result.current;
    this.#observeState(incarnation, state);
    if (!result.applied) return result;
    life.answers.push({ incarnation, said: { state } });
    if (result.duplicate) {
      this.#deps.probe('jobs/duplicate');
      return result;
    }
    history.jobs.passed(fence, write);
    leases.renewed(incarnation, write, askedMs);
    return result;
  }

  async listStates(
    jobId: string,
    scope: Scope,
    page: { readonly afterRevision: number; readonly limit: number },
    call?: CallOptions,
  ): Promise<StatePage> {
    const { inner, life } = this.#deps;
    const read = await inner.listStates(jobId, scope, page, call);
    for (const state of read.states) this.#observeState(read.incarnation, state);
    if (page.afterRevision === 0 && !read.more) life.pages.push({ scope, page: read });
    return read;
  }

  getState(
    jobId: string,
    taskId: number,
    tag: string,
    call?: CallOptions,
  ): Promise<State | undefined> {
    return this.#deps.inner.getState(jobId, taskId, tag, call);
  }

  aggregate(jobId: string, scope: Scope, call?: CallOptions): Promise<Progress> {
    return this.#deps.inner.aggregate(jobId, scope, call);
  }

  listLost(jobId: string, call?: CallOptions): Promise<readonly TaskLease[]> {
    return this.#deps.inner.listLost(jobId, call);
  }

  subscribe(jobId: string, options: StoreSubscribeOptions): JobSubscription {
    const inner = this.#deps.inner.subscribe(jobId, options);
    const observe = (event: JobEvent) => this.#observeEvent(event);
    return {
      async *[Symbol.asyncIterator]() {
        for await (const event of inner) {
          observe(event);
          yield event;
        }
      },
      async *batches(max?: number) {
        for await (const events of inner.batches(max)) {
          for (const event of events) observe(event);
          yield events;
        }
      },
      get cursor() {
        return inner.cursor;
      },
      [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
    };
  }

  close(): Promise<void> {
    return this.#deps.inner.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Its revision is the last of the job, whatever made it. */
  #observe(job: JobInfo): void {
    const { history } = this.#deps;
    history.records.observed(job.incarnation, job.revision, 'buffered');
    history.jobs.observed(job);
  }

  /** Its revision is that of the metadata. */
  #metadata(job: JobInfo): JobInfo {
    const { history, life } = this.#deps;
    history.records.observed(job.incarnation, job.revision, 'synced');
    history.jobs.metadata(job);
    life.answers.push({ incarnation: job.incarnation, said: { job } });
    return job;
  }

  #observeState(incarnation: string, state: State): void {
    const { records, states } = this.#deps.history;
    if (state.version === 0) return; // a cell that was never written
    records.observed(incarnation, state.revision, states.durabilityOf(state));
    states.observed(incarnation, state);
  }

  #observeEvent(event: JobEvent): void {
    const { history, life, leases, probe } = this.#deps;
    if (event.kind === 'gap') probe(`jobs/gap-${event.reason}`);
    if (!('cursor' in event)) return;
    const incarnation = incarnationOfPast(pastOfCursor(event.cursor));
    life.learn(incarnation, event);
    history.learn(event);
    switch (event.kind) {
      case 'snapshot':
      case 'change':
        this.#observeState(incarnation, event.state);
        return;
      case 'lease':
        history.records.observed(incarnation, event.lease.revision, 'synced');
        history.jobs.lease(incarnation, event.lease);
        if (event.lease.state !== 'lost') return;
        probe('jobs/lost');
        leases.lost(incarnation, event.lease);
        return;
      case 'job':
        history.records.observed(incarnation, event.job.revision, 'synced');
        history.jobs.metadata(event.job);
        return;
      case 'synced':
      case 'live':
        history.records.observed(incarnation, event.revision, 'buffered');
    }
  }
}
