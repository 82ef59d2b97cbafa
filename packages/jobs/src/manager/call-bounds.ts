// What ends a call before its answer comes: the caller's signal, the end of whoever makes the call, or time.
// Made one signal, whose reason says which it was, and which leaves no timer and no listener behind.
import { abortedError, type Clock, SynclineError } from '@syncline/kernel';

export interface CallBoundsOptions {
  /** For messages: `setState of tag "ingest"`. */
  readonly what: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Its reason, a SynclineError, becomes the reason here. */
  readonly parent?: AbortSignal | undefined;
}

export class CallBounds implements Disposable {
  readonly #controller = new AbortController();
  readonly #cleanups: (() => void)[] = [];

  constructor(clock: Clock, options: CallBoundsOptions) {
    const { what, timeoutMs, signal, parent } = options;
    const tooLate = () =>
      new SynclineError('timeout', `${what} had no answer within ${timeoutMs} ms`);
    const timer = clock.setTimer(timeoutMs, () => this.#controller.abort(tooLate()));
    this.#cleanups.push(() => timer.cancel());
    if (signal !== undefined) this.#follow(signal, () => abortedError(what, signal));
    if (parent !== undefined) this.#follow(parent, () => SynclineError.from(parent.reason));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why it is over; undefined while it is not. */
  get reason(): SynclineError | undefined {
    return this.signal.aborted ? SynclineError.from(this.signal.reason) : undefined;
  }

  [Symbol.dispose](): void {
    for (const cleanUp of this.#cleanups.splice(0)) cleanUp();
  }

  #follow(cause: AbortSignal, reason: () => SynclineError): void {
    const abort = () => this.#controller.abort(reason());
    if (cause.aborted) abort();
    cause.addEventListener('abort', abort);
    this.#cleanups.push(() => cause.removeEventListener('abort', abort));
  }
}
