// A write of the remote store, from its call to its answer. It is answered once, by whatever comes first.
import { abortedError, SynclineError } from '@syncline/kernel';
import { type SetStateResponse, setState } from '../wire/calls.js';
import { windowBytesOf } from '../wire/write-messages.js';

export interface PendingWriteOptions {
  readonly number: number;
  /** A SetStateRequest. */
  readonly write: Uint8Array;
  readonly signal: AbortSignal | undefined;
  /** By the monotonic clock. */
  readonly deadlineMs: number;
}

export interface PendingWriteDeps {
  resolve(response: SetStateResponse): void;
  reject(error: unknown): void;
  /** Comes once, before the answer. */
  onSettled(write: PendingWrite): void;
}

export class PendingWrite {
  readonly options: PendingWriteOptions;
  readonly #deps: PendingWriteDeps;
  #isSent = false;
  #isSettled = false;

  constructor(deps: PendingWriteDeps, options: PendingWriteOptions) {
    this.#deps = deps;
    this.options = options;
    options.signal?.addEventListener('abort', this.#abort);
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** What it takes of a message and of the window, counted as the server does. */
  get bytes(): number {
    return windowBytesOf(this.options.write);
  }

  /** From now on nobody can tell whether it has arrived. */
  sent(): void {
    this.#isSent = true;
  }

  done(response: SetStateResponse): void {
    if (this.#settle()) this.#deps.resolve(response);
  }

  /** The error says itself what is known of the outcome. */
  failed(error: unknown): void {
    if (this.#settle()) this.#deps.reject(error);
  }

  /** Nobody waits for the answer any more. */
  givenUp({ code, message, details, cause }: SynclineError): void {
    const outcome = this.#isSent ? 'unknown' : 'not-applied';
    this.failed(new SynclineError(code, message, { details, outcome, cause }));
  }

  readonly #abort = (): void => {
    const { signal } = this.options;
    if (signal !== undefined) this.givenUp(abortedError(setState.name, signal));
  };

  #settle(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    this.options.signal?.removeEventListener('abort', this.#abort);
    this.#deps.onSettled(this);
    return true;
  }
}
