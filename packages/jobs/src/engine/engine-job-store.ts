// A job store made of the engine and an adapter: checks what comes in, and hands states out as objects.
import { type CheckedWrite, checkStateWrite } from '../checks/checked-write.js';
import { checkJobPatch, checkJobQuery, checkJobSpec } from '../checks/job-input.js';
import { checkCount, checkPageLimit, checkTaskId } from '../checks/numbers.js';
import { checkLeaseRequest, checkScope } from '../checks/task-input.js';
import { checkJobId, checkTag } from '../checks/text.js';
import type {
  JobInfo,
  JobList,
  JobPatch,
  JobQuery,
  JobSpec,
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
import type { Progress, TagProgress } from '../progress.js';
import type { Scope, State } from '../state.js';
import { timedWrite } from '../timed-write.js';
import { type StoredState, withPayload } from '../wire/state-message.js';
import { decodeEvent, type EncodedEvent } from './feed-event.js';
import { type EngineDeps, type EngineOptions, JobEngine } from './job-engine.js';
import type { EncodedPage, JobProgress } from './job-reads.js';
import type { EncodedResult } from './job-writes.js';
import type { AdapterHost, StoreAdapter } from './store-adapter.js';
import { decodeState } from './stored-change.js';

/** Makes a job store of an adapter. The store closes it. */
export async function openJobStore(
  adapter: StoreAdapter,
  deps: EngineDeps,
  options: EngineOptions = {},
): Promise<EngineJobStore> {
  const opened: { host?: AdapterHost } = {};
  const start = await adapter.start({
    wake: (jobId) => opened.host?.wake(jobId),
    followed: () => opened.host?.followed() ?? [],
    markStale: (stale) => opened.host?.markStale(stale),
    markLive: () => opened.host?.markLive(),
  });
  const engine = new JobEngine(adapter, deps, options, start);
  opened.host = engine.host;
  return new EngineJobStore(engine, deps);
}

/** Calls whose states stay encoded. */
export interface EncodedCalls {
  setState(write: CheckedWrite): Promise<EncodedResult>;
  listStates(
    jobId: string,
    scope: Scope,
    page: Readonly<{ afterRevision: number; limit: number; signal: AbortSignal | undefined }>,
  ): Promise<EncodedPage>;
  /** Job, progress and lost leases: of one moment, if the store is one of the engine. */
  progress(jobId: string, scope: Scope, signal: AbortSignal | undefined): Promise<JobProgress>;
  subscribe(jobId: string, options: StoreSubscribeOptions): JobSubscription<EncodedEvent>;
}

export class EngineJobStore implements JobStore {
  readonly capabilities: StoreCapabilities;
  readonly observer: JobsMetrics;
  readonly engine: JobEngine;
  readonly #deps: EngineDeps;

  constructor(engine: JobEngine, deps: EngineDeps) {
    this.capabilities = engine.adapter.capabilities;
    this.observer = deps.metrics;
    this.engine = engine;
    this.#deps = deps;
  }

  async createJob(spec: JobSpec, { signal }: CallOptions = {}) {
    this.engine.begin(signal);
    return this.engine.writes.createJob(checkJobSpec(spec), signal);
  }

  async getJob(jobId: string, { signal }: CallOptions = {}): Promise<JobInfo | undefined> {
    this.engine.begin(signal);
    return this.engine.getJob(checkJobId(jobId), signal);
  }

  async listJobs(query: JobQuery, { signal }: CallOptions = {}): Promise<JobList> {
    this.engine.begin(signal);
    return this.engine.listJobs(checkJobQuery(query));
  }

  async updateJob(
    jobId: string,
    patch: JobPatch,
    { signal, incarnation }: JobCallOptions = {},
  ): Promise<JobInfo> {
    this.engine.begin(signal);
    const meant = { jobId: checkJobId(jobId), incarnation };
    return this.engine.writes.updateJob(meant, checkJobPatch(patch), signal);
  }

  async markJobDeleted(
    jobId: string,
    { signal, incarnation }: JobCallOptions = {},
  ): Promise<JobInfo> {
    this.engine.begin(signal);
    return this.engine.writes.markJobDeleted({ jobId: checkJobId(jobId), incarnation }, signal);
  }

  async deleteJob(
    jobId: string,
    { signal, incarnation, ifRevision }: DeleteOptions = {},
  ): Promise<boolean> {
    this.engine.begin(signal);
    const meant = { jobId: checkJobId(jobId), incarnation, ifRevision };
    return (await this.engine.writes.deleteJob(meant, signal)) !== undefined;
  }

  async lease(request: LeaseRequest, { signal }: CallOptions = {}): Promise<TaskLease> {
    this.engine.begin(signal);
    return this.engine.writes.lease(checkLeaseRequest(request), signal);
  }

  async setState(write: StateWrite, { signal }: CallOptions = {}): Promise<SetStateResult> {
    return timedWrite(this.#deps, async () => {
      this.engine.begin(signal);
      const checked = checkStateWrite(write);
      const { applied, duplicate, state } = await this.engine.writes.setState(checked, signal);
      const decoded = decodeState(state, checked.jobId);
      return applied
        ? { applied, duplicate, state: decoded }
        : { applied, reason: 'version', current: decoded };
    });
  }

  async listStates(
    jobId: string,
    scope: Scope,
    page: { readonly afterRevision: number; readonly limit: number },
    { signal }: CallOptions = {},
  ): Promise<StatePage> {
    this.engine.begin(signal);
    const bounds = {
      afterRevision: checkCount(page.afterRevision, 'afterRevision'),
      limit: checkPageLimit(page.limit, jobsLimits.listStatesMax.value),
      signal,
    };
    const found = await this.engine.listStates(checkJobId(jobId), scope, bounds);
    return { ...found, states: found.states.map((bytes) => decodeState(bytes, jobId)) };
  }

  async getState(
    jobId: string,
    taskId: number,
    tag: string,
    { signal }: CallOptions = {},
  ): Promise<State | undefined> {
    this.engine.begin(signal);
    const cell = { taskId: checkTaskId(taskId), tag: checkTag(tag), signal };
    const bytes = await this.engine.getState(checkJobId(jobId), cell);
    return bytes && decodeState(bytes, jobId);
  }

  async aggregate(jobId: string, scope: Scope, { signal }: CallOptions = {}): Promise<Progress> {
    this.engine.begin(signal);
    const found = await this.engine.progress(checkJobId(jobId), checkScope(scope), signal);
    return progressWithPayloads(found.progress);
  }

  async listLost(jobId: string, { signal }: CallOptions = {}): Promise<readonly TaskLease[]> {
    this.engine.begin(signal);
    return (await this.engine.progress(checkJobId(jobId), {}, signal)).lost;
  }

  subscribe(jobId: string, options: StoreSubscribeOptions): JobSubscription {
    return this.engine.subscribe(jobId, options, decodeEvent);
  }

  /** The same calls with checked input and encoded states: what a server needs. */
  get encoded(): EncodedCalls {
    const { engine } = this;
    const start = (signal: AbortSignal | undefined) => engine.begin(signal);
    return {
      setState: (write) =>
        timedWrite(this.#deps, async () => {
          start(undefined);
          return engine.writes.setState(write, undefined);
        }),
      listStates: async (jobId, scope, page) => {
        start(page.signal);
        const afterRevision = checkCount(page.afterRevision, 'afterRevision');
        const limit = checkPageLimit(page.limit, jobsLimits.listStatesMax.value);
        return engine.listStates(checkJobId(jobId), scope, { ...page, afterRevision, limit });
      },
      progress: async (jobId, scope, signal) => {
        start(signal);
        return engine.progress(checkJobId(jobId), scope, signal);
      },
      subscribe: (jobId, options) => engine.subscribe(jobId, options, (event) => event),
    };
  }

  status() {
    return this.engine.status();
  }

  close(): Promise<void> {
    return this.engine.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

export function progressWithPayloads(progress: Progress<StoredState>): Progress {
  const parse = <P extends Omit<TagProgress<StoredState>, 'tag'>>(part: P) => ({
    ...part,
    lowest: withPayload(part.lowest),
    worst: withPayload(part.worst),
  });
  return { ...parse(progress), tags: progress.tags.map(parse) };
}
