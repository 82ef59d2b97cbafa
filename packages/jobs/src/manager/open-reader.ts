// A reader of one job: everything that can be asked. A manager is one too, and adds the writes of its task.
//
// Its types are those of states without schemas; the factories give them the types that the tags imply.
//
// J21  After `close()` no call and no subscription is left.
import { abortedError, SynclineError } from '@syncline/kernel';
import { checkScope } from '../checks/task-input.js';
import type { JobInfo } from '../job.js';
import type { Cursor, JobEvent, JobSubscription } from '../job-event.js';
import type { CallOptions } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import type { Progress, TagProgress } from '../progress.js';
import { defaultState, type Scope, type State } from '../state.js';
import type { JobAccess } from './job-access.js';
import type { SubscribeOptions } from './job-reader.js';
import { ProgressFold } from './progress-fold.js';
import { ReadSubscription } from './read-subscription.js';
import { waitedEvents } from './waited-events.js';

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

  /** In pages. What is rewritten meanwhile comes once more, with its higher revision. */
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
    const fold = new ProgressFold(job, this.#check(scope));
    await using events = this.subscribe({ ...scope, ...call, include: ['lease', 'job'] });
    for await (const event of waitedEvents(events, job.jobId)) {
      if (!fold.take(event)) continue;
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
    const { taskId, tag, signal, after: saved, ...rest } = options;
    const after = saved as Cursor | undefined; // the store checks it
    const scope = {
      ...(taskId === undefined ? {} : { taskId }),
      ...(tag === undefined ? {} : { tag }),
    };
    const subscription = new ReadSubscription(
      {
        ...this.#access,
        open: (stop) =>
          store.subscribe(job.jobId, {
            ...rest,
            scope,
            signal: stop,
            ...(after === undefined ? {} : { after }),
          }),
        onEnd: (ended) => this.#subscriptions.delete(ended),
      },
      { signal, after },
    );
    this.#subscriptions.add(subscription);
    return subscription;
  }

  /** Throws what the end of a subscription throws, once all have ended. */
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

  /** Its form alone: which tasks there are is for the store to say, since a job may be created anew. */
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
    const { calls, job, life } = this.#access;
    const what = `${name} of job "${job.jobId}"`;
    return calls.run({ what, isWrite: false, signal, closing: life.closing }, send);
  }

  async #readBest<Row extends Pick<TagProgress, 'lowest' | 'worst'>>(row: Row): Promise<Row> {
    const { states } = this.#access;
    const [lowest, worst] = await Promise.all([states.read(row.lowest), states.read(row.worst)]);
    return { ...row, lowest, worst };
  }
}

function recreatedError(jobId: string): SynclineError {
  return new SynclineError(
    'conflict',
    `job "${jobId}" was deleted and created again while its states were listed. List them again.`,
    { details: { reason: 'incarnation', jobId } },
  );
}
