// A call that waits for its commit: it is decided when its batch is formed and answered when that is stored.
import { abortedError, SynclineError } from '@syncline/kernel';
import type { CommitRequest } from './commit-queue.js';
import { JobNotLoaded } from './job-not-loaded.js';
import type { StagedBatch } from './staged-batch.js';

export interface PendingCallOptions<T> {
  readonly bytes: number;
  readonly signal: AbortSignal | undefined;
  /** Checks and stages. Throws why it is refused; then it has staged nothing. */
  decide(batch: StagedBatch): T;
  resolve(answer: T): void;
  reject(error: unknown): void;
}

export class PendingCall<T> implements CommitRequest {
  readonly bytes: number;
  readonly #options: PendingCallOptions<T>;
  #outcome: { readonly answer: T } | { readonly refusal: unknown } | undefined;
  #isAborted = false;

  constructor(options: PendingCallOptions<T>) {
    this.bytes = options.bytes;
    this.#options = options;
    options.signal?.addEventListener('abort', this.#onAbort);
  }

  prepare(batch: StagedBatch): void {
    if (this.#isAborted) return;
    try {
      this.#outcome = { answer: this.#options.decide(batch) };
    } catch (thrown) {
      const refusal = thrown instanceof JobNotLoaded ? thrown : SynclineError.from(thrown);
      this.#outcome = { refusal };
    }
  }

  done(): void {
    this.#settle();
    if (this.#isAborted || !this.#outcome) return;
    if ('answer' in this.#outcome) this.#options.resolve(this.#outcome.answer);
    else this.#options.reject(this.#outcome.refusal);
  }

  /** A refusal is not told either: it may rest on what the batch held, and that has not happened. */
  failed(error: SynclineError): void {
    this.#settle();
    if (!this.#isAborted) this.#options.reject(error);
  }

  #settle(): void {
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => {
    const { signal, reject } = this.#options;
    this.#isAborted = true;
    this.#settle();
    if (!signal) return;
    const isTaken = this.#outcome !== undefined;
    const { message, cause } = abortedError('a write to the job store', signal);
    reject(
      new SynclineError('aborted', message, {
        cause,
        outcome: isTaken ? 'unknown' : 'not-applied',
      }),
    );
  };
}
