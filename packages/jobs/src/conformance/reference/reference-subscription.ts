// A subscriber of the reference store: before each delivery it goes through all changes of the job again. It only
// keeps a revision and whether the replay is over, so it cannot miss or repeat a change.
//
// It buffers nothing. A buffer counts as full when more waits at a pull than the buffer would hold.
import { type Clock, SynclineError } from '@syncline/kernel';
import { checkBatchMax } from '../../checks/values.js';
import type { Cursor, JobEvent, JobSubscription, StoreSubscribeOptions } from '../../job-store.js';
import { jobsLimits } from '../../limits.js';
import { readCursor, writeCursor } from '../trace/cursor-parts.js';
import type { JobChange } from '../trace/keys.js';
import { isForSubscriber, keyOfChange } from '../trace/keys.js';
import type { ReferenceJob } from './reference-job.js';

const BUFFER_EVENTS = 256;

export interface ReferenceSubscriptionDeps {
  readonly clock: Clock;
  /** Throws what is wrong with the options or the job. Called at the first pull. */
  openJob(): ReferenceJob;
  /** Fires when the store closes. */
  readonly closed: AbortSignal;
}

export class ReferenceSubscription implements JobSubscription {
  readonly #deps: ReferenceSubscriptionDeps;
  readonly #options: StoreSubscribeOptions;
  readonly #stop = new AbortController();
  #cursor: Cursor | undefined;
  /** Everything in scope up to here was delivered. */
  #revision = 0;
  #isTaken = false;

  constructor(deps: ReferenceSubscriptionDeps, options: StoreSubscribeOptions) {
    this.#deps = deps;
    this.#options = options;
    const signals = [deps.closed, ...(options.signal ? [options.signal] : [])];
    for (const signal of signals) {
      if (signal.aborted) this.#stop.abort();
      signal.addEventListener('abort', () => this.#stop.abort(), { signal: this.#stop.signal });
    }
  }

  get cursor(): Cursor | undefined {
    return this.#cursor;
  }

  async *batches(max = 1): AsyncGenerator<readonly JobEvent[]> {
    checkBatchMax(max);
    for await (const event of this) yield [event];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<JobEvent> {
    if (this.#isTaken) throw new SynclineError('conflict', 'a subscription can be read once');
    this.#isTaken = true;
    try {
      const job = this.#deps.openJob();
      for await (const event of this.#run(job)) {
        if (this.#isStopped()) return;
        if ('cursor' in event) this.#cursor = event.cursor;
        yield event;
      }
    } finally {
      this.#stop.abort();
    }
  }

  #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async *#run(job: ReferenceJob): AsyncGenerator<JobEvent> {
    let owesLive = yield* this.#begin(job);
    let hasBeenLevel = false;
    while (!this.#isStopped()) {
      const waiting = this.#above(job, this.#revision);
      if (job.isGone && waiting.length === 0) {
        yield this.#gap('deleted', this.#revision);
        return;
      }
      if (waiting.length === 0) {
        this.#revision = job.revision;
        const isIdle = !owesLive && !(await this.#nextChange(job));
        if (owesLive || isIdle) yield this.#live(job);
        owesLive = false;
        hasBeenLevel = true;
        continue;
      }
      owesLive = yield* this.#deliver(job, waiting, hasBeenLevel);
    }
  }

  /** The replay, or the response to a cursor. True: send `live` when the reader has caught up. */
  async *#begin(job: ReferenceJob): AsyncGenerator<JobEvent, boolean> {
    const { incarnation } = job.info();
    const after = this.#options.after === undefined ? undefined : readCursor(this.#options.after);
    const isKnown = after?.base === incarnation && after.revision <= job.revision;
    if (after && !isKnown) yield this.#gap('reset', after.revision);
    if (after && isKnown) this.#revision = after.revision;
    if (after && isKnown && !after.isInReplay) {
      yield this.#synced(job, true);
      return true;
    }
    const changes = latestOf(this.#above(job, this.#revision));
    const boundary = job.revision;
    for (const change of changes) yield eventOf(change, this.#cursorAt(job, change.revision, true));
    this.#revision = boundary;
    yield this.#synced(job, false);
    return false;
  }

  async *#deliver(
    job: ReferenceJob,
    waiting: readonly JobChange[],
    isLive: boolean,
  ): AsyncGenerator<JobEvent, boolean> {
    const { overflow = 'block', buffer } = this.#options;
    const to = job.revision;
    const from = this.#revision;
    const isFull = isLive && waiting.length > (buffer?.maxEvents ?? BUFFER_EVENTS);
    const isCompacted = from < job.compactedTo && latestOf(waiting).length < waiting.length;
    const isCoalesced = isCompacted || (isFull && overflow === 'coalesce');
    if (isCoalesced) yield this.#gap(isCompacted ? 'compacted' : 'overflow', from, to);
    const isFailing = isFull && overflow === 'fail';
    const changes = isCoalesced ? latestOf(waiting) : waiting;
    for (const change of isFailing ? changes.slice(0, buffer?.maxEvents) : changes) {
      this.#revision = change.revision;
      yield eventOf(change, this.#cursorAt(job, change.revision, false));
    }
    if (isFailing) throw this.#tooSlow();
    this.#revision = to;
    return isCoalesced;
  }

  #tooSlow(): SynclineError {
    const { maxEvents = BUFFER_EVENTS } = this.#options.buffer ?? {};
    const message = `the subscriber was too slow for its buffer of ${maxEvents} events`;
    return new SynclineError('overflow', message, { details: { cursor: this.#cursor } });
  }

  #above(job: ReferenceJob, revision: number): readonly JobChange[] {
    const { scope, include = [] } = this.#options;
    return job.changes
      .slice(revision)
      .filter((change) => isForSubscriber({ scope, include }, change));
  }

  #cursorAt(job: ReferenceJob, revision: number, isInReplay: boolean): Cursor {
    return writeCursor({ base: job.info().incarnation, revision, isInReplay });
  }

  #synced(job: ReferenceJob, resumed: boolean): JobEvent {
    const revision = this.#revision;
    const cursor = this.#cursorAt(job, revision, false);
    return { kind: 'synced', revision, cursor, history: 'all', resumed };
  }

  #live(job: ReferenceJob): JobEvent {
    const revision = this.#revision;
    return { kind: 'live', revision, cursor: this.#cursorAt(job, revision, false) };
  }

  #gap(
    reason: Extract<JobEvent, { kind: 'gap' }>['reason'],
    fromRevision: number,
    toRevision = fromRevision,
  ): JobEvent {
    return { kind: 'gap', reason, fromRevision, toRevision };
  }

  /** False: nothing happened for `liveIntervalMs`. */
  #nextChange(job: ReferenceJob): Promise<boolean> {
    return new Promise((resolve) => {
      const finish = (hasChanged: boolean) => {
        timer.cancel();
        stopListening();
        this.#stop.signal.removeEventListener('abort', onAbort);
        resolve(hasChanged);
      };
      const onAbort = () => finish(true);
      const stopListening = job.onChange(() => finish(true));
      const { value: idleMs } = jobsLimits.liveIntervalMs;
      const timer = this.#deps.clock.setTimer(idleMs, () => finish(false));
      this.#stop.signal.addEventListener('abort', onAbort);
    });
  }
}

/** The last change of each key, ascending. */
function latestOf(changes: readonly JobChange[]): readonly JobChange[] {
  const last = new Map(changes.map((change) => [keyOfChange(change), change]));
  return changes.filter((change) => last.get(keyOfChange(change)) === change);
}

function eventOf(change: JobChange, cursor: Cursor): JobEvent {
  switch (change.kind) {
    case 'state': {
      const kind = cursor.endsWith('~') ? 'snapshot' : 'change';
      return { kind, state: change.state, cursor };
    }
    case 'lease':
      return { kind: 'lease', lease: change.lease, cursor };
    case 'job':
      return { kind: 'job', job: change.job, cursor };
  }
}
