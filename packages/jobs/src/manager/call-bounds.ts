// What ends a call before its answer comes: the caller's signal, the end of whoever makes the call, or time.
// It knows which it was, and leaves no timer and no listener behind.
//
// An AbortSignal costs more than the rest of a call in memory, so it is made only when somebody asks for it.
import { abortedError, type Clock, SynclineError } from '@syncline/kernel';

export interface CallBoundsOptions {
  /** For messages: `setState of tag "ingest"`. */
  readonly what: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Fires with the SynclineError that becomes the reason here. */
  readonly closing?: AbortSignal | undefined;
}

export class CallBounds implements Disposable {
  readonly #cleanups: (() => void)[] = [];
  #controller: AbortController | undefined;
  #reason: SynclineError | undefined;
  #onEnd: ((reason: SynclineError) => void) | undefined;

  constructor(clock: Clock, { what, timeoutMs, signal, closing }: CallBoundsOptions) {
    const tooLate = () =>
      new SynclineError('timeout', `${what} had no answer within ${timeoutMs} ms`);
    const timer = clock.setTimer(timeoutMs, () => this.end(tooLate()));
    this.#cleanups.push(() => timer.cancel());
    if (signal) this.#follow(signal, () => abortedError(what, signal));
    if (closing) this.#follow(closing, () => SynclineError.from(closing.reason));
  }

  /** Why it is over; undefined while it is not. */
  get reason(): SynclineError | undefined {
    return this.#reason;
  }

  /** Fires when it is over. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** Told once, at the end; undefined: nobody is told any more. */
  set onEnd(tell: ((reason: SynclineError) => void) | undefined) {
    this.#onEnd = tell;
  }

  end(reason: SynclineError): void {
    if (this.#reason) return;
    this.#reason = reason;
    this[Symbol.dispose](); // now: whoever closes does not wait until the call has noticed
    this.#onEnd?.(reason);
    this.#controller?.abort(reason);
  }

  [Symbol.dispose](): void {
    for (const cleanUp of this.#cleanups.splice(0)) cleanUp();
  }

  #follow(cause: AbortSignal, reasonOf: () => SynclineError): void {
    const end = () => this.end(reasonOf());
    if (cause.aborted) end();
    cause.addEventListener('abort', end);
    this.#cleanups.push(() => cause.removeEventListener('abort', end));
  }
}
