// A reader of one job, with all reads. A manager extends it with the writes of its task. States have their plain types
// here; the factories cast to the types that follow from the tags.
//
// J21  After `close()` no call and no subscription is left.
import { abortedError, SynclineError } from '@syncline/kernel';
import { checkScope } from '../checks/input.js';
import { hasCode } from '../core/refusals.js';
import { defaultState, type JobInfo, type Progress, type Scope, type State } from '../job.js';
import type { CallOptions, Cursor, JobEvent, JobSubscription } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import { JobFold } from './job-fold.js';
import type { SubscribeOptions } from './job-manager.js';
import type { JobSession } from './store-calls.js';

export class OpenReader implements AsyncDisposable {
  protected readonly session: JobSession;
  readonly #subscriptions = new Set<JobSubscription>();

  constructor(session: JobSession) {
    this.session = session;
  }

  get info(): JobInfo {
    return this.session.job;
  }

  async getState(scope: Scope = {}, call: CallOptions = {}): Promise<State> {
    const { store, states } = this.session.deps;
    const { jobId } = this.info;
    const { taskId, tag } = this.#check(scope);
    if (taskId === undefined || tag === undefined) {
      return states.read((await this.#aggregate('getState', scope, call)).lowest);
    }
    const state = await this.session.call('getState', call, (options) =>
      store.getState(jobId, taskId, tag, options),
    );
    return states.read(state ?? defaultState(jobId, taskId, tag));
  }

  async getProgress(scope: Scope = {}, call: CallOptions = {}): Promise<Progress> {
    const { states } = this.session.deps;
    const progress = await this.#aggregate('getProgress', this.#check(scope), call);
    if (states.isPlain) return progress;
    const read = async <Row extends Pick<Progress, 'lowest' | 'worst'>>(row: Row) => {
      const [lowest, worst] = [await states.read(row.lowest), await states.read(row.worst)];
      return { ...row, lowest, worst };
    };
    return { ...(await read(progress)), tags: await Promise.all(progress.tags.map(read)) };
  }

  async *listStates(scope: Scope = {}, call: CallOptions = {}): AsyncGenerator<State> {
    const { store, states } = this.session.deps;
    const { jobId } = this.info;
    const checked = this.#check(scope);
    const limit = jobsLimits.listStatesMax.value;
    let incarnation: string | undefined;
    for (let afterRevision = 0; ; ) {
      this.session.check();
      const page = await this.session.call('listStates', call, (options) =>
        store.listStates(jobId, checked, { afterRevision, limit }, options),
      );
      incarnation ??= page.incarnation;
      if (page.incarnation !== incarnation) {
        const message = `job "${jobId}" was deleted and created again while its states were listed. List them again.`;
        throw new SynclineError('conflict', message, {
          details: { reason: 'incarnation', jobId },
        });
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
    const fold = new JobFold(this.info, this.#check(scope));
    await using events = this.subscribe({ ...scope, ...call, include: ['lease', 'job'] });
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
    this.session.check();
    if (signal?.aborted) throw abortedError('waitFor', signal);
    throw new SynclineError('closed', `the store of job "${jobId}" was closed`);
  }

  subscribe(options: SubscribeOptions = {}): JobSubscription<JobEvent> {
    this.session.check();
    const subscription = subscribeTo(this.session, options, () =>
      this.#subscriptions.delete(subscription),
    );
    this.#subscriptions.add(subscription);
    return subscription;
  }

  async close(): Promise<void> {
    this.session.beginClosing();
    const open = [...this.#subscriptions];
    const ends = await Promise.allSettled(open.map((each) => each[Symbol.asyncDispose]()));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Checks only the types: the store checks whether the task exists, since a job may be recreated. */
  #check(scope: Scope): Scope {
    this.session.check();
    return checkScope(scope);
  }

  #aggregate(name: string, scope: Scope, call: CallOptions): Promise<Progress> {
    const { store } = this.session.deps;
    return this.session.call(name, call, (options) =>
      store.aggregate(this.info.jobId, scope, options),
    );
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

/** The store's subscription, with payloads read with the schemas of their tags. At its end it drops buffered events. */
function subscribeTo(
  { deps: { store, clock, metrics, states }, job }: JobSession,
  { taskId, tag, signal, after, ...rest }: SubscribeOptions,
  onEnd: () => void,
): JobSubscription {
  const stop = new AbortController();
  let cursor = after as Cursor | undefined; // the store checks it
  if (signal?.aborted) stop.abort();
  const source = store.subscribe(job.jobId, {
    ...rest,
    scope: { ...(taskId !== undefined && { taskId }), ...(tag !== undefined && { tag }) },
    ...(cursor !== undefined && { after: cursor }),
    signal: stop.signal,
  });
  const end = (): void => {
    signal?.removeEventListener('abort', end);
    stop.abort();
    onEnd();
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
  async function* handOut<T>(
    from: AsyncIterable<T>,
    convert: (stored: T) => Promise<T>,
    noteAll: (handedOut: T) => void,
  ): AsyncGenerator<T> {
    pulledAtMs = clock.monotonicMs();
    try {
      for await (const stored of from) {
        const seen = states.isPlain ? stored : await convert(stored);
        if (stop.signal.aborted) return;
        noteAll(seen);
        yield seen;
      }
    } finally {
      await dispose();
    }
  }
  return {
    get cursor() {
      return cursor;
    },
    batches(max = BATCH_EVENTS_DEFAULT) {
      const readAll = (events: readonly JobEvent[]) => Promise.all(events.map(read));
      return handOut(source.batches(max), readAll, (events) => events.forEach(note));
    },
    [Symbol.asyncIterator]: () => handOut(source, read, note),
    [Symbol.asyncDispose]: dispose,
  };
}

const BATCH_EVENTS_DEFAULT = 256;
