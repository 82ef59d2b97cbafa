// Group commit: what waits becomes one commit, one commit is in flight while the next gathers.
//
//   push ─▶ waiting ─ taken, checked ─▶ in flight ─ stored ─▶ memory changed ─▶ answered ─▶ published
//                                           └─ failed ─▶ answered with the error; nothing has happened
//
// Checks run when a commit is formed, against what is committed and what the commit already holds, so they need no
// locks. Every answer leaves after the commit, refusals too, since they may rest on what it holds. A mistake of ours
// inside a check fails the whole commit: what it has staged cannot be trusted.
import { abortedError, type Clock, SynclineError } from '@syncline/kernel';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import { type CommitBatch, JobNotLoaded } from './commit-batch.js';

/** Something that waits for its place in a commit. */
export interface LaneRequest {
  readonly jobId: string;
  /** The cell that it looks at. */
  readonly cell?: Readonly<{ taskId: number; tag: string }> | undefined;
  /** What it takes in the queue and adds to a commit, about. */
  readonly bytes: number;
  /** Checks and stages it. Throws only mistakes of ours. May be called again if the commit is repeated. */
  prepare(batch: CommitBatch): void;
  /** The commit is stored. */
  done(): void;
  failed(thrown: unknown): void;
}

export interface PendingCallOptions<T> {
  readonly jobId: string;
  readonly cell?: LaneRequest['cell'];
  readonly bytes: number;
  readonly signal: AbortSignal | undefined;
  /** Checks and stages. Throws a SynclineError that says why it is refused; it has staged nothing then. */
  decide(batch: CommitBatch): T;
  resolve(answer: T): void;
  reject(error: unknown): void;
}

/** A call that waits for its commit: decided when the commit is formed, answered when it is stored. */
export class PendingCall<T> implements LaneRequest {
  readonly #options: PendingCallOptions<T>;
  #outcome: { readonly answer: T } | { readonly refusal: unknown } | undefined;
  #isAborted = false;

  constructor(options: PendingCallOptions<T>) {
    this.#options = options;
    options.signal?.addEventListener('abort', this.#onAbort);
  }

  get jobId(): string {
    return this.#options.jobId;
  }

  get cell(): LaneRequest['cell'] {
    return this.#options.cell;
  }

  get bytes(): number {
    return this.#options.bytes;
  }

  prepare(batch: CommitBatch): void {
    if (this.#isAborted) return;
    try {
      this.#outcome = { answer: this.#options.decide(batch) };
    } catch (thrown) {
      if (!(thrown instanceof SynclineError) && !(thrown instanceof JobNotLoaded)) throw thrown;
      this.#outcome = { refusal: thrown };
    }
  }

  done(): void {
    this.#settle();
    if (this.#isAborted || !this.#outcome) return;
    if ('answer' in this.#outcome) this.#options.resolve(this.#outcome.answer);
    else this.#options.reject(this.#outcome.refusal);
  }

  /** A refusal is not passed on either: it may rest on what the commit held, and that has not happened. */
  failed(thrown: unknown): void {
    this.#settle();
    if (!this.#isAborted) this.#options.reject(thrown);
  }

  #settle(): void {
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => {
    const { signal, reject } = this.#options;
    this.#isAborted = true;
    this.#settle();
    if (!signal) return;
    const outcome = this.#outcome === undefined ? 'not-applied' : 'unknown';
    const { message, cause } = abortedError('a write to the job store', signal);
    reject(new SynclineError('aborted', message, { cause, outcome }));
  };
}

/** What waits in all lanes of a store. */
export class WriteQuota {
  readonly #metrics: JobsMetrics;
  count = 0;
  bytes = 0;

  constructor(metrics: JobsMetrics) {
    this.#metrics = metrics;
  }

  /** Throws `overloaded` when the queue is full. */
  check(bytes: number): void {
    const { writeQueueMax, writeQueueBytesMax } = jobsLimits;
    if (this.count >= writeQueueMax.value) throw overloaded('writeQueueMax');
    if (this.count > 0 && this.bytes + bytes > writeQueueBytesMax.value)
      throw overloaded('writeQueueBytesMax');
  }

  add(count: 1 | -1, bytes: number): void {
    this.count += count;
    this.bytes += count * bytes;
    this.#metrics.set('syncline_jobs_write_queue', this.count);
  }
}

export interface CommitLaneDeps {
  readonly clock: Pick<Clock, 'defer'>;
  readonly quota: WriteQuota;
  /** Stores one commit, changes memory, answers and publishes. Throws nothing but mistakes of ours. */
  commit(take: () => readonly LaneRequest[]): Promise<void>;
  onIdle?(lane: CommitLane): void;
}

export class CommitLane {
  readonly #deps: CommitLaneDeps;
  #waiting: LaneRequest[] = [];
  /** Reads that wait for the commit in flight. */
  readonly #between: (() => void)[] = [];
  #isCommitting = false;
  #isPlanned = false;
  readonly #onIdle: (() => void)[] = [];

  constructor(deps: CommitLaneDeps) {
    this.#deps = deps;
  }

  push(request: LaneRequest): void {
    this.#waiting.push(request);
    this.#deps.quota.add(1, request.bytes);
    this.#plan();
  }

  /** Calls back while no commit is in flight: at once, or after the one that is. */
  whenLevel(callback: () => void): void {
    if (this.#isCommitting) this.#between.push(callback);
    else callback();
  }

  /** Resolves when nothing waits and nothing is in flight. */
  idle(): Promise<void> {
    if (!this.#isCommitting && this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  /** At the end of this turn, so that what arrives together is written together. */
  #plan(): void {
    if (this.#isPlanned || this.#isCommitting) return;
    this.#isPlanned = true;
    this.#deps.clock.defer(() => {
      this.#isPlanned = false;
      void this.#run(); // failures of the store go to the callers; a mistake of ours ends the process
    });
  }

  /** One commit. The next is formed a turn later: requests that lie in sockets by now are in it, not behind it. */
  async #run(): Promise<void> {
    this.#isCommitting = true;
    await this.#deps.commit(() => this.#take());
    this.#isCommitting = false;
    for (const callback of this.#between.splice(0)) callback();
    if (this.#waiting.length > 0) {
      this.#plan();
      return;
    }
    for (const resolve of this.#onIdle.splice(0)) resolve();
    this.#deps.onIdle?.(this);
  }

  #take(): readonly LaneRequest[] {
    const { commitWritesMax, commitBytesMax } = jobsLimits;
    let bytes = 0;
    let count = 0;
    for (const request of this.#waiting) {
      bytes += request.bytes;
      if (count > 0 && (count >= commitWritesMax.value || bytes > commitBytesMax.value)) break;
      count += 1;
    }
    const taken = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    for (const request of taken) this.#deps.quota.add(-1, request.bytes);
    return taken;
  }
}

function overloaded(limit: 'writeQueueMax' | 'writeQueueBytesMax'): SynclineError {
  const { value } = jobsLimits[limit];
  const what = limit === 'writeQueueMax' ? 'writes' : 'bytes of writes';
  return new SynclineError(
    'overloaded',
    `${value} ${what} are waiting to be committed. Wait for earlier writes before the next.`,
    { details: { limit } },
  );
}
