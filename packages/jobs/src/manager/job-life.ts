// Whether a manager or reader still answers.
//
//   open ──▶ fenced    a newer claim has the task: every later call is refused
//     └──┬─────▶ closing ──▶ ended    reads and subscriptions end first, then what is left of the writes
//        └ (fenced too)
import { setMaxListeners } from 'node:events';
import { SynclineError } from '@syncline/kernel';
import type { JobsMetrics } from '../metrics-list.js';

export class JobLife {
  readonly #what: string;
  readonly #metrics: JobsMetrics;
  readonly #closing = new AbortController();
  readonly #ended = new AbortController();
  #fence: SynclineError | undefined;

  /** `what`: for messages, such as `the manager of task 3 of job "nightly"`. */
  constructor(what: string, metrics: JobsMetrics) {
    this.#what = what;
    this.#metrics = metrics;
    setMaxListeners(0, this.closing, this.ended); // every call under way listens, and stops when it ends
  }

  /** Fires with `closed` for what reads. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Fires with `closed` for what writes. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  get isFenced(): boolean {
    return this.#fence !== undefined;
  }

  /** Throws `closed` or `fenced`. */
  check(): void {
    if (this.closing.aborted) throw this.#closedError();
    this.checkFence();
  }

  /** For writes that were accepted before closing began. */
  checkFence(): void {
    if (this.#fence === undefined) return;
    this.#metrics.add('syncline_jobs_fenced_total');
    throw this.#fence;
  }

  /** True the first time. */
  fence(error: SynclineError): boolean {
    this.#metrics.add('syncline_jobs_fenced_total');
    if (this.isFenced) return false;
    this.#fence = error;
    return true;
  }

  beginClosing(): void {
    this.#closing.abort(this.#closedError());
  }

  end(): void {
    this.#ended.abort(this.#closedError());
  }

  #closedError(): SynclineError {
    return new SynclineError('closed', `${this.#what} was closed`);
  }
}
