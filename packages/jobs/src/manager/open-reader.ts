// A reader of one job, with all reads. A manager extends it with the writes of its task.
//
// States have their plain types here; the factories cast to the types that follow from the tags.
//
// J21  After `close()` no call and no subscription is left.
import { abortedError, SynclineError } from '@syncline/kernel';
import { checkScope } from '../checks/input.js';
import {
  defaultState,
  type JobInfo,
  type Progress,
  type Scope,
  type State,
  type TagProgress,
} from '../job.js';
import type {
  CallOptions,
  Cursor,
  JobEvent,
  JobSubscription,
  StoreSubscribeOptions,
} from '../job-store.js';
import { jobsLimits } from '../limits.js';
import { JobFold } from './job-fold.js';
import type { SubscribeOptions } from './job-manager.js';
import { type JobAccess, runCall } from './store-calls.js';

export class OpenReader implements AsyncDisposable {
  readonly #access: JobAccess;
  readonly #subscriptions = new Set<JobSubscription>();

  #info: JobInfo;

  constructor(access: JobAccess) {
    this.#access = access;
    this.#info = access.job;
  }

  get info(): JobInfo {
    return this.#info;
  }

  async getState(scope: Scope = {}, call: CallOptions = {}): Promise<State> {
    const { store, job, states } = this.#access;
    const { taskId, tag } = this.#check(scope);
    if (taskId === undefined || tag === undefined) {
      return states.read((await this.#aggregate('getState', { scope, call })).lowest);
    }
    const state = await this.#read('getState', call, (options) =>
      store.getState(job.jobId, taskId, tag, options),
    );
    return states.read(state ?? defaultState(job.jobId, taskId, tag));
  }

  async getProgress(scope: Scope = {}, call: CallOptions = {}): Promise<Progress> {
    const progress = await this.#aggregate('getProgress', { scope: this.#check(scope), call });
    if (this.#access.states.isPlain) return progress;
    const tags = await Promise.all(progress.tags.map((row) => this.#readBest(row)));
    return { ...(await this.#readBest(progress)), tags };
  }

  /** Reads in pages. A state that is rewritten in the meantime is returned again, with its higher revision. */
  async *listStates(scope: Scope = {}, call: CallOptions = {}): AsyncGenerator<State> {
    const { store, job, states } = this.#access;
    const { jobId } = job;
    const checked = this.#check(scope);
    const limit = jobsLimits.listStatesMax.value;
    let incarnation: string | undefined;
    for (let afterRevision = 0; ; ) {
      this.#access.life.check();
      const page = await this.#read('listStates', call, (options) =>
        store.listStates(jobId, checked, { afterRevision, limit }, options),
      );
      incarnation ??= page.incarnation;
      if (page.incarnation !== incarnation) throw recreatedError(jobId);
      for (const state of page.states) yield await states.read(state);
      if (!page.more) return;
      afterRevision = page.revision;
    }
  }

  async waitFor(
    scope: Scope,
    isReached: (progress: Progress) => boolean,
    call: CallOptions = {},
  ): Promise<Progress> {
    const { job, life } = this.#access;
    const { signal } = call;
    const fold = new JobFold(job, this.#check(scope));
    await using events = this.subscribe({ ...scope, ...call, include: ['lease', 'job'] });
    for await (const event of waitedEvents(events, job.jobId)) {
      if (event.kind === 'gap' && event.reason === 'deleted') throw deletedError(job.jobId);
      fold.apply(event);
      if (!fold.isWhole || event.kind === 'stale') continue;
      const progress = fold.progress();
      if (!isReached(progress)) continue;
      if (!fold.mayBeMixture) return progress;
      const stored = await this.getProgress(scope, call);
      if (isReached(stored)) return stored;
    }
    life.check();
    if (signal?.aborted) throw abortedError('waitFor', signal);
    throw new SynclineError('closed', `the store of job "${job.jobId}" was closed`);
  }

  subscribe(options: SubscribeOptions = {}): JobSubscription<JobEvent> {
    const { store, job, life } = this.#access;
    life.check();
    const { taskId, tag, signal, after, ...rest } = options;
    const asked = {
      ...rest,
      scope: { ...(taskId !== undefined && { taskId }), ...(tag !== undefined && { tag }) },
      ...(after !== undefined && { after: after as Cursor }), // the store checks it
    };
    const subscription = new ReadSubscription(
      {
        ...this.#access,
        open: (stop) => store.subscribe(job.jobId, { ...asked, signal: stop }),
        onEnd: (ended) => this.#subscriptions.delete(ended),
      },
      { ...asked, ...(signal && { signal }) },
    );
    this.#subscriptions.add(subscription);
    return subscription;
  }

  /** Waits for all subscriptions to end, then rethrows the first error from ending one. */
  async close(): Promise<void> {
    this.#access.life.beginClosing();
    const ends = await Promise.allSettled(
      [...this.#subscriptions].map((open) => open[Symbol.asyncDispose]()),
    );
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  protected noteInfo(job: JobInfo): void {
    this.#info = job;
  }

  /** Checks only the types: the store checks whether the task exists, since a job may be recreated. */
  #check(scope: Scope): Scope {
    this.#access.life.check();
    return checkScope(scope);
  }

  #aggregate(
    name: string,
    { scope, call }: { readonly scope: Scope; readonly call: CallOptions },
  ): Promise<Progress> {
    const { store, job } = this.#access;
    return this.#read(name, call, (options) => store.aggregate(job.jobId, scope, options));
  }

  #read<T>(name: string, { signal }: CallOptions, send: (options: CallOptions) => Promise<T>) {
    const { job, life } = this.#access;
    const what = `${name} of job "${job.jobId}"`;
    return runCall(this.#access, { what, isWrite: false, signal, closing: life.closing }, send);
  }

  async #readBest<Row extends Pick<TagProgress, 'lowest' | 'worst'>>(row: Row): Promise<Row> {
    const { states } = this.#access;
    const [lowest, worst] = await Promise.all([states.read(row.lowest), states.read(row.worst)]);
    return { ...row, lowest, worst };
  }
}

function deletedError(jobId: string): SynclineError {
  return new SynclineError('not-found', `job "${jobId}" was deleted while waiting for it`, {
    details: { jobId },
  });
}

function recreatedError(jobId: string): SynclineError {
  return new SynclineError(
    'conflict',
    `job "${jobId}" was deleted and created again while its states were listed. List them again.`,
    { details: { reason: 'incarnation', jobId } },
  );
}

/**
 * Replaces the advice of the error to resume with a cursor: the caller of `waitFor` has none, and should call it again.
 */
async function* waitedEvents(
  events: AsyncIterable<JobEvent>,
  jobId: string,
): AsyncGenerator<JobEvent> {
  try {
    yield* events;
  } catch (thrown) {
    const isOutage =
      thrown instanceof SynclineError && thrown.code === 'unavailable' && thrown.retryable;
    if (!isOutage) throw thrown;
    const { cause, details } = thrown;
    const detail = cause instanceof SynclineError ? cause.message : thrown.message;
    throw new SynclineError(
      'unavailable',
      `waitFor of job "${jobId}" lost its connection to the store: ${detail.replace(/\.$/, '')}. Call it again.`,
      { details, cause: thrown },
    );
  }
}

// A subscription as user code sees it: the store's subscription, with payloads read with the schemas of their tags.
//
// It ends when the caller's signal fires, the loop ends, or its reader or manager is closed, and drops buffered events.
//
// J21  After it has ended, the store's subscription is closed and no listener is left.

interface ReadSubscriptionDeps extends Pick<JobAccess, 'clock' | 'metrics' | 'states'> {
  open(signal: AbortSignal): JobSubscription;
  onEnd(subscription: JobSubscription): void;
}

type ReadSubscriptionOptions = Pick<StoreSubscribeOptions, 'signal' | 'after'>;

const BATCH_EVENTS_DEFAULT = 256;

class ReadSubscription implements JobSubscription {
  readonly #deps: ReadSubscriptionDeps;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal | undefined;
  readonly #source: JobSubscription;
  /** Events are passed on unchanged. */
  readonly #isPlain: boolean;
  #cursor: Cursor | undefined;
  #pulledAtMs: number | undefined;

  constructor(deps: ReadSubscriptionDeps, { signal, after }: ReadSubscriptionOptions) {
    this.#deps = deps;
    this.#cursor = after;
    this.#signal = signal;
    this.#isPlain = deps.states.isPlain;
    if (signal?.aborted) this.#stop.abort();
    this.#source = deps.open(this.#stop.signal);
    signal?.addEventListener('abort', this.#end);
  }

  get cursor(): Cursor | undefined {
    return this.#cursor;
  }

  [Symbol.asyncIterator](): AsyncGenerator<JobEvent> {
    const note = (event: JobEvent) => this.#note(event);
    return this.#handOut(this.#source, (event) => this.#read(event), note);
  }

  batches(max = BATCH_EVENTS_DEFAULT): AsyncGenerator<readonly JobEvent[]> {
    const read = (events: readonly JobEvent[]) =>
      Promise.all(events.map((event) => this.#read(event)));
    return this.#handOut(this.#source.batches(max), read, (events) => {
      for (const event of events) this.#note(event);
    });
  }

  async *#handOut<T>(
    source: AsyncIterable<T>,
    read: (stored: T) => Promise<T>,
    note: (handedOut: T) => void,
  ): AsyncGenerator<T> {
    this.#pulledAtMs = this.#deps.clock.monotonicMs();
    try {
      for await (const stored of source) {
        const seen = this.#isPlain ? stored : await read(stored);
        if (this.#stop.signal.aborted) return;
        note(seen);
        yield seen;
      }
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end();
    await this.#source[Symbol.asyncDispose]();
  }

  readonly #end = (): void => {
    this.#signal?.removeEventListener('abort', this.#end);
    this.#stop.abort();
    this.#deps.onEnd(this);
  };

  async #read(event: JobEvent): Promise<JobEvent> {
    if (!('state' in event)) return event;
    return { ...event, state: await this.#deps.states.read(event.state) };
  }

  /** The cursor follows delivered events, not what the store has read ahead. */
  #note(event: JobEvent): void {
    if ('cursor' in event) this.#cursor = event.cursor;
    if (event.kind === 'gap' && event.reason === 'overflow') {
      this.#deps.metrics.add('syncline_jobs_subscription_drops_total', 1, { reason: 'coalesce' });
    }
    if (event.kind === 'synced' && this.#pulledAtMs !== undefined) {
      const tookMs = this.#deps.clock.monotonicMs() - this.#pulledAtMs;
      if (!event.resumed)
        this.#deps.metrics.observe('syncline_jobs_replay_duration_seconds', tookMs / 1000);
      this.#pulledAtMs = undefined;
    }
  }
}
