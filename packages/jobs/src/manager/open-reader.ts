// A reader of one job, with all reads. A manager extends it with the writes of its task. States have their plain types
// here; the factories cast to the types that follow from the tags.
//
// J21  After `close()` no call and no subscription is left.
import { setMaxListeners } from 'node:events';
import { abortedError, type Logger, SynclineError } from '@syncline/kernel';
import { checkKnownKeys } from '@syncline/kernel/checks';
import { checkScope } from '../checks/input.js';
import { hasCode } from '../core/refusals.js';
import { defaultState, type JobInfo, type Progress, type Scope, type State } from '../job.js';
import type { CallOptions, Cursor, JobEvent, JobStore, JobSubscription } from '../job-store.js';
import { limitValues } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import { JobFold } from './job-fold.js';
import type { SubscribeOptions } from './job-manager.js';
import type { StateReader } from './state-reader.js';
import { type CallDeps, OpenCall, type StoreCall } from './store-calls.js';

export interface ReaderDeps extends CallDeps {
  readonly store: JobStore;
  readonly states: StateReader;
  /** Receives everything except what the store reports to the same observer. */
  readonly metrics: JobsMetrics;
  /** Receives the durations and failures of writes, which the store then does not report. */
  readonly observer: JobsMetrics;
  /** Adds the job, and for a manager the task, to each line. */
  readonly logger: Logger;
}

const CALL_OPTIONS: Record<keyof CallOptions, true> = { signal: true, observer: true };

export class OpenReader implements AsyncDisposable {
  protected readonly deps: ReaderDeps;
  /** As of opening, or of the last change made through this object. */
  info: JobInfo;
  readonly #what: string;
  readonly #closing = new AbortController();
  readonly #subscriptions = new Set<JobSubscription>();

  /** `what`: for messages, such as `the manager of task 3 of job "nightly"`. */
  constructor(deps: ReaderDeps, job: JobInfo, what: string) {
    this.deps = deps;
    this.info = job;
    this.#what = what;
    setMaxListeners(0, this.#closing.signal); // every call in flight adds a listener
  }

  async getState(scope: Scope = {}, call: CallOptions = {}): Promise<State> {
    const { store, states } = this.deps;
    const { jobId } = this.info;
    const { taskId, tag } = this.#checkScope(scope, call);
    if (taskId === undefined || tag === undefined) {
      return states.read((await this.#aggregate('getState', scope, call)).lowest);
    }
    const state = await this.call('getState', call, (options) =>
      store.getState(jobId, taskId, tag, options),
    );
    return states.read(state ?? defaultState(jobId, taskId, tag));
  }

  async getProgress(scope: Scope = {}, call: CallOptions = {}): Promise<Progress> {
    const { states } = this.deps;
    const progress = await this.#aggregate('getProgress', this.#checkScope(scope, call), call);
    const read = async <Row extends Pick<Progress, 'lowest' | 'worst'>>(row: Row) => {
      const [lowest, worst] = [await states.read(row.lowest), await states.read(row.worst)];
      return { ...row, lowest, worst };
    };
    return { ...(await read(progress)), tags: await Promise.all(progress.tags.map(read)) };
  }

  async *listStates(scope: Scope = {}, call: CallOptions = {}): AsyncGenerator<State> {
    const { store, states } = this.deps;
    const { jobId } = this.info;
    const checked = this.#checkScope(scope, call);
    const limit = limitValues.listStatesMax;
    let incarnation: string | undefined;
    for (let afterRevision = 0; ; ) {
      this.check();
      const page = await this.call('listStates', call, (options) =>
        store.listStates(jobId, checked, { afterRevision, limit }, options),
      );
      incarnation ??= page.incarnation;
      if (page.incarnation !== incarnation) {
        const message = `job "${jobId}" was deleted and created again while its states were listed. List them again.`;
        const details = { reason: 'incarnation', jobId };
        throw new SynclineError('conflict', message, { details });
      }
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
    const { signal } = call;
    const { jobId } = this.info;
    const fold = new JobFold(this.info, this.#checkScope(scope, call));
    await using events = this.subscribe({ ...scope, signal, include: ['lease', 'job'] });
    for await (const event of waitedEvents(events, jobId)) {
      if (event.kind === 'gap' && event.reason === 'deleted') {
        const message = `job "${jobId}" was deleted while waiting for it`;
        throw new SynclineError('not-found', message, { details: { jobId } });
      }
      fold.apply(event);
      if (!fold.isWhole || event.kind === 'stale') continue;
      const progress = fold.progress();
      if (!isReached(progress)) continue;
      if (!fold.mayBeMixture) return progress;
      const stored = await this.getProgress(scope, call);
      if (isReached(stored)) return stored;
    }
    this.check();
    if (signal?.aborted) throw abortedError('waitFor', signal);
    throw new SynclineError('closed', `the store of job "${jobId}" was closed`);
  }

  /** The store's subscription, with payloads read with the schemas of their tags. At its end it drops buffered events. */
  subscribe(options: SubscribeOptions = {}): JobSubscription<JobEvent> {
    this.check();
    const { store, clock, metrics, states } = this.deps;
    const { taskId, tag, after, ...rest } = options;
    const { signal } = rest;
    let cursor = after as Cursor | undefined; // the store checks it
    let isEnded = false;
    const scope = { taskId, tag } as Scope; // the store ignores what is undefined
    const source = store.subscribe(this.info.jobId, { ...rest, scope, after: cursor });
    const end = (): void => {
      isEnded = true;
      signal?.removeEventListener('abort', end);
      this.#subscriptions.delete(subscription);
    };
    signal?.addEventListener('abort', end);
    const dispose = async (): Promise<void> => {
      end();
      await source[Symbol.asyncDispose]();
    };

    const read = async (event: JobEvent): Promise<JobEvent> =>
      'state' in event ? { ...event, state: await states.read(event.state) } : event;
    let pulledAtMs: number | undefined;
    /** The cursor follows delivered events, not what the store has read ahead. */
    const note = (event: JobEvent): void => {
      if ('cursor' in event) cursor = event.cursor;
      if (event.kind === 'gap' && event.reason === 'overflow') {
        metrics.add('syncline_jobs_subscription_drops_total', 1, { reason: 'coalesce' });
      }
      if (event.kind !== 'synced' || pulledAtMs === undefined) return;
      const seconds = (clock.monotonicMs() - pulledAtMs) / 1000;
      if (!event.resumed) metrics.observe('syncline_jobs_replay_duration_seconds', seconds);
      pulledAtMs = undefined;
    };
    async function* deliver(from: AsyncIterable<readonly JobEvent[]>) {
      pulledAtMs = clock.monotonicMs();
      try {
        for await (const stored of from) {
          const events = states.isPlain ? stored : await Promise.all(stored.map(read));
          if (isEnded) return;
          events.forEach(note);
          yield events;
        }
      } finally {
        await dispose();
      }
    }
    const subscription: JobSubscription = {
      get cursor() {
        return cursor;
      },
      batches: (max) => deliver(source.batches(max)),
      async *[Symbol.asyncIterator]() {
        for await (const events of deliver(source.batches(1))) yield* events;
      },
      [Symbol.asyncDispose]: dispose,
    };
    this.#subscriptions.add(subscription);
    return subscription;
  }

  async close(): Promise<void> {
    this.#closing.abort(new SynclineError('closed', `${this.#what} was closed`));
    const open = [...this.#subscriptions];
    const ends = await Promise.allSettled(open.map((each) => each[Symbol.asyncDispose]()));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Throws if this object accepts no more calls. An option that a call does not have would have no effect. */
  protected check(call: CallOptions = {}): void {
    const { signal } = this.#closing;
    if (signal.aborted) throw signal.reason;
    checkKnownKeys(call, 'the options', CALL_OPTIONS);
  }

  /** Unless `closing` is given, the call ends when closing begins. */
  protected async call<T>(
    name: string,
    options: Omit<StoreCall, 'what'>,
    send: (options: CallOptions) => Promise<T>,
  ): Promise<T> {
    const what = `${name} of job "${this.info.jobId}"`;
    const closing = this.#closing.signal;
    using open = new OpenCall(this.deps, { closing, ...options, what });
    return await open.send(send);
  }

  /** Checks only the types: the store checks whether the task exists, since a job may be recreated. */
  #checkScope(scope: Scope, call: CallOptions): Scope {
    this.check(call);
    return checkScope(scope);
  }

  #aggregate(name: string, scope: Scope, call: CallOptions): Promise<Progress> {
    const { store } = this.deps;
    return this.call(name, call, (options) => store.aggregate(this.info.jobId, scope, options));
  }
}

/** Replaces the advice to resume with a cursor: the caller of `waitFor` has none. */
async function* waitedEvents(
  events: AsyncIterable<JobEvent>,
  jobId: string,
): AsyncGenerator<JobEvent> {
  try {
    yield* events;
  } catch (thrown) {
    if (!hasCode(thrown, 'unavailable') || !thrown.retryable) throw thrown;
    const { cause, details } = thrown;
    const detail = (cause instanceof SynclineError ? cause : thrown).message.replace(/\.$/, '');
    const message = `waitFor of job "${jobId}" lost its connection to the store: ${detail}. Call it again.`;
    throw new SynclineError('unavailable', message, { details, cause: thrown });
  }
}
