// What all job stores have in common: they check input, once, and return states as objects. Their reads and writes
// (those of the engine, of Firestore, or of a remote server) use encoded states, which a server sends as they are.
import { abortedError, SynclineError } from '@syncline/kernel';
import { checkKnownKeys } from '@syncline/kernel/checks';
import { type CheckedWrite, checkStateWrite } from '../checks/checked-write.js';
import * as input from '../checks/input.js';
import { checkCount, checkJobId, checkPageLimit, checkTag, checkTaskId } from '../checks/values.js';
import type { JobRef } from '../core/decisions.js';
import type { JobInfo, JobList, JobPatch, JobSpec, LeaseRequest, TaskLease } from '../job.js';
import { mapProgress, type Progress, type Scope } from '../job.js';
import type {
  CreatedJob,
  DeleteOptions,
  JobStore,
  JobSubscription,
  PageBounds,
  StatePage,
  StoreCapabilities,
  StoreSubscribeOptions,
} from '../job-store.js';
import { limitValues } from '../limits.js';
import { type JobsMetrics, type TimedWriteDeps, timedWrite } from '../metrics-list.js';
import { type StoredState, withPayload } from '../wire/messages.js';
import { decodeEvent, decodeState, type EncodedEvent } from './changes.js';
import type { OpenedSubscription } from './job-feed.js';

type Signal = AbortSignal | undefined;

/** Job, progress and lost leases, read at the same revision. */
export interface JobProgress {
  readonly job: JobInfo;
  readonly progress: Progress<StoredState>;
  readonly lost: readonly TaskLease[];
}

export type EncodedPage = Omit<StatePage, 'states'> & Readonly<{ states: readonly Uint8Array[] }>;

export type EncodedResult = Readonly<{
  applied: boolean;
  duplicate: boolean;
  /** A State message: the written state, or the current one if `applied` is false. */
  state: Uint8Array;
}>;

export type DeletedJob = JobRef & Readonly<{ ifRevision?: number | undefined }>;

export interface StoreWrites {
  createJob(spec: Required<JobSpec>, signal: Signal): Promise<CreatedJob>;
  updateJob(meant: JobRef, patch: JobPatch, signal: Signal): Promise<JobInfo>;
  markJobDeleted(meant: JobRef, signal: Signal): Promise<JobInfo>;
  deleteJob(meant: DeletedJob, signal: Signal): Promise<boolean>;
  lease(request: LeaseRequest, signal: Signal): Promise<TaskLease>;
  setState(write: CheckedWrite, signal: Signal): Promise<EncodedResult>;
}

export interface StoreReads {
  getJob(jobId: string, signal: Signal): Promise<JobInfo | undefined>;
  listJobs(query: input.CheckedJobQuery, signal: Signal): Promise<JobList>;
  listStates(jobId: string, scope: Scope, page: PageBounds, signal: Signal): Promise<EncodedPage>;
  getState(jobId: string, cell: Required<Scope>, signal: Signal): Promise<Uint8Array | undefined>;
  progress(jobId: string, scope: Scope, signal: Signal): Promise<JobProgress>;
}

const JOB_CALL = { signal: true, observer: true, incarnation: true };
const DELETE_CALL = { ...JOB_CALL, ifRevision: true };

/** Refuses unknown options: with a mistyped `ifRevision`, a deletion would be unconditional. */
function meantJob(jobId: string, call: DeleteOptions = {}, known: object = JOB_CALL): DeletedJob {
  checkKnownKeys(call, 'the options', known);
  const { incarnation, ifRevision } = call;
  return { jobId: checkJobId(jobId), incarnation, ifRevision };
}

export abstract class CheckedJobStore implements JobStore {
  abstract readonly capabilities: StoreCapabilities;
  protected abstract readonly reads: StoreReads;
  protected abstract readonly writes: StoreWrites;
  readonly observer: JobsMetrics;
  protected readonly timing: TimedWriteDeps;
  #closing: Promise<void> | undefined;

  constructor(deps: TimedWriteDeps) {
    this.observer = deps.metrics;
    this.timing = deps;
  }

  abstract subscribe(jobId: string, options: StoreSubscribeOptions): JobSubscription;
  /** Called once. */
  protected abstract end(): Promise<void>;

  createJob: JobStore['createJob'] = async (spec, call) =>
    this.writes.createJob(input.checkJobSpec(spec), this.begin(call?.signal));

  getJob: JobStore['getJob'] = async (jobId, call) =>
    this.reads.getJob(checkJobId(jobId), this.begin(call?.signal));

  listJobs: JobStore['listJobs'] = async (query, call) =>
    this.reads.listJobs(input.checkJobQuery(query), this.begin(call?.signal));

  updateJob: JobStore['updateJob'] = async (jobId, patch, call) => {
    const meant = meantJob(jobId, call);
    return this.writes.updateJob(meant, input.checkJobPatch(patch), this.begin(call?.signal));
  };

  markJobDeleted: JobStore['markJobDeleted'] = async (jobId, call) =>
    this.writes.markJobDeleted(meantJob(jobId, call), this.begin(call?.signal));

  deleteJob: JobStore['deleteJob'] = async (jobId, call) =>
    this.writes.deleteJob(meantJob(jobId, call, DELETE_CALL), this.begin(call?.signal));

  lease: JobStore['lease'] = async (request, call) =>
    this.writes.lease(input.checkLeaseRequest(request), this.begin(call?.signal));

  setState: JobStore['setState'] = async (write, call) => {
    const run: () => ReturnType<JobStore['setState']> = async () => {
      const checked = checkStateWrite(write);
      const answer = await this.writes.setState(checked, this.begin(call?.signal));
      const state = this.decode(() => decodeState(answer.state, checked.jobId));
      if (!answer.applied) return { applied: false, reason: 'version', current: state };
      return { applied: true, duplicate: answer.duplicate, state };
    };
    return call?.observer === this.observer ? run() : timedWrite(this.timing, run);
  };

  listStates: JobStore['listStates'] = async (jobId, scope, page, call) => {
    const found = await this.listEncoded(jobId, scope, page, call?.signal);
    const states = this.decode(() => found.states.map((bytes) => decodeState(bytes, jobId)));
    return { ...found, states };
  };

  getState: JobStore['getState'] = async (jobId, taskId, tag, call) => {
    const signal = this.begin(call?.signal);
    const cell = { taskId: checkTaskId(taskId), tag: checkTag(tag) };
    const bytes = await this.reads.getState(checkJobId(jobId), cell, signal);
    return bytes && this.decode(() => decodeState(bytes, jobId));
  };

  aggregate: JobStore['aggregate'] = async (jobId, scope, call) => {
    const { progress } = await this.progress(jobId, scope, call?.signal);
    return this.decode(() => progressWithPayloads(progress));
  };

  listLost: JobStore['listLost'] = async (jobId, call) =>
    (await this.progress(jobId, {}, call?.signal)).lost;

  close(): Promise<void> {
    this.#closing ??= this.end();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async progress(jobId: string, scope: Scope, signal: Signal): Promise<JobProgress> {
    this.begin(signal);
    return this.reads.progress(checkJobId(jobId), input.checkScope(scope), signal);
  }

  listEncoded: StoreReads['listStates'] = async (jobId, scope, page, signal) => {
    this.begin(signal);
    const bounds = {
      afterRevision: checkCount(page.afterRevision, 'afterRevision'),
      limit: checkPageLimit(page.limit, limitValues.listStatesMax),
    };
    return this.reads.listStates(checkJobId(jobId), input.checkScope(scope), bounds, signal);
  };

  protected get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /** Returns the signal. Throws `closed` or `aborted`. */
  protected begin(signal: Signal): Signal {
    if (this.#closing) throw new SynclineError('closed', 'the job store is closed');
    if (signal?.aborted) throw abortedError('the call to the job store', signal);
    return signal;
  }

  /** A remote store may have received anything. */
  protected decode<T>(decodeNow: () => T): T {
    return decodeNow();
  }
}

/** A store that is not remote. The `…Encoded` methods are for a server. */
export abstract class LocalJobStore extends CheckedJobStore {
  abstract status(): object;
  protected abstract openSubscription(
    jobId: string,
    options: StoreSubscribeOptions,
    signal: AbortSignal,
  ): Promise<OpenedSubscription>;

  async setEncoded(write: CheckedWrite): Promise<EncodedResult> {
    return timedWrite(this.timing, () => this.writes.setState(write, this.begin(undefined)));
  }

  subscribe(jobId: string, options: StoreSubscribeOptions): JobSubscription {
    const open = (signal: AbortSignal) => this.openSubscription(jobId, options, signal);
    return storeSubscription(open, options, decodeEvent);
  }

  subscribeEncoded(jobId: string, options: StoreSubscribeOptions): JobSubscription<EncodedEvent> {
    const open = (signal: AbortSignal) => this.openSubscription(jobId, options, signal);
    return storeSubscription(open, options, (event) => event);
  }
}

export function localStore(store: JobStore): LocalJobStore {
  if (store instanceof LocalJobStore) return store;
  throw new SynclineError(
    'invalid-argument',
    'a server needs a job store created with openJobStore from @syncline/jobs/store-kit',
  );
}

export function progressWithPayloads(progress: Progress<StoredState>): Progress {
  return mapProgress(progress, withPayload);
}

/**
 * Opened on the first pull, so that `subscribe` need not wait and errors are thrown to the reader. The signal of `open`
 * fires if the subscription ends before it is open; later, the opened one watches the signal of the options itself.
 */
export function storeSubscription<E>(
  open: (signal: AbortSignal) => Promise<OpenedSubscription> | OpenedSubscription,
  { after, signal }: Pick<StoreSubscribeOptions, 'after' | 'signal'>,
  convert: (event: EncodedEvent) => E,
): JobSubscription<E> {
  const stop = new AbortController();
  const ended = { done: true, value: undefined } as const;
  let opening: Promise<OpenedSubscription | undefined> | undefined;
  let opened: OpenedSubscription | undefined;

  /** Undefined if the subscription has already ended. */
  async function openNow(): Promise<OpenedSubscription | undefined> {
    const stopNow = () => stop.abort(signal?.reason);
    if (signal?.aborted) stopNow();
    if (stop.signal.aborted) return undefined;
    signal?.addEventListener('abort', stopNow);
    try {
      opened = await open(stop.signal);
      if (stop.signal.aborted) opened.events.close();
      return opened;
    } catch (thrown) {
      if (stop.signal.aborted) return undefined;
      throw thrown;
    } finally {
      signal?.removeEventListener('abort', stopNow);
    }
  }

  async function close(): Promise<void> {
    stop.abort();
    opened?.events.close();
  }

  /** Not a generator: its `return` would wait for a `next` that waits for an event. */
  function iterate<T>(
    max: number | undefined,
    pick: (batch: readonly EncodedEvent[]) => T,
  ): AsyncIterableIterator<T> {
    let iterator: AsyncIterator<readonly EncodedEvent[]> | undefined;
    const outer: AsyncIterableIterator<T> = {
      next: async () => {
        if (iterator === undefined) {
          opening ??= openNow();
          const events = (await opening)?.events;
          if (!events) return ended;
          iterator ??= events.batches(max);
        }
        const result = await iterator.next();
        return result.done ? ended : { done: false, value: pick(result.value) };
      },
      return: async () => {
        await close();
        return ended;
      },
      [Symbol.asyncIterator]: () => outer,
    };
    return outer;
  }

  return {
    get cursor() {
      return opened ? opened.cursor() : after;
    },
    batches: (max) => iterate(max, (batch) => batch.map(convert)),
    [Symbol.asyncIterator]: () => iterate(1, ([event]) => convert(event as EncodedEvent)),
    [Symbol.asyncDispose]: close,
  };
}
