// How a manager or reader calls its store: with retries until `timeoutMs`, which starts with the call and includes
// queueing, ended early by the caller's signal or by closing. An attempt without a reply is abandoned after its share
// of the time, since the reply may have been lost; a write keeps its event id, so that sending it again is harmless.
//
// J2   If any attempt of a write may have arrived, its failure has `outcome: 'unknown'`.
// J21  An ended call leaves no timer and no listener.
import {
  abortedError,
  backoffMs,
  type Clock,
  type Logger,
  type Random,
  SynclineError,
} from '@syncline/kernel';
import type { CallOptions } from '../job-store.js';

export interface StoreCall {
  /** For messages: `setState of tag "ingest"`. */
  readonly what: string;
  /** Whether an attempt without a reply may have changed something. Default false. */
  readonly isWrite?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Fires with a SynclineError when the manager or reader is closed. */
  readonly closing?: AbortSignal | undefined;
  /** For the whole call: queueing, all attempts and the pauses between them. Default: that of the options. */
  readonly timeoutMs?: number;
  /** Of its errors: for a state write the event id, so that the caller can repeat it. */
  readonly details?: { readonly eventId: string };
}

export interface CallDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly timeoutMs: number;
  readonly retry: { readonly initialMs: number; readonly maxMs: number };
  /** Call it with the error of each failed attempt, and with undefined after a reply. */
  readonly noteOutage: (error: SynclineError | undefined) => void;
}

/** Number of attempts within `timeoutMs` if the store does not reply. */
const SILENT_ATTEMPTS = 6;
/** Every attempt gets at least this long, so that slow replies still count. */
const ATTEMPT_MS_MIN = 1_000;

/** Logs once that the store cannot be reached, and once that it is back. */
export function createOutageLog(logger: Logger): CallDeps['noteOutage'] {
  let isOut = false;
  return (error) => {
    const wasOut = isOut;
    isOut = error?.code === 'unavailable' || error?.code === 'timeout';
    const fields = { error: error?.code, reason: error?.message };
    if (isOut && !wasOut) logger.warn('🟡 cannot reach the job store, retrying', fields);
    if (!error && wasOut) logger.info('the job store is reachable again');
  };
}

/** One call with all its attempts. The timeout starts on construction. Dispose it when the call has ended. */
export class OpenCall implements Disposable {
  readonly #deps: CallDeps;
  readonly #call: StoreCall;
  readonly #timeoutMs: number;
  readonly #deadlineMs: number;
  readonly #cleanups: (() => void)[] = [];
  #reason: SynclineError | undefined;
  /** Why nothing has been sent yet. */
  #waitReason: string | undefined;
  #onEnd: ((reason: SynclineError) => void) | undefined;

  constructor(deps: CallDeps, call: StoreCall) {
    const { signal, closing } = call;
    this.#deps = deps;
    this.#call = call;
    this.#timeoutMs = call.timeoutMs ?? deps.timeoutMs;
    this.#deadlineMs = deps.clock.monotonicMs() + this.#timeoutMs;
    const timer = deps.clock.setTimer(this.#timeoutMs, () => this.#end(this.#late()));
    this.#cleanups.push(() => timer.cancel());
    if (signal) this.#follow(signal, () => abortedError(call.what, signal));
    if (closing) this.#follow(closing, () => SynclineError.from(closing.reason));
  }

  /** Waits before anything is sent. If the call ends first, rejects with `not-applied`. `why` is for error messages. */
  async wait<T>(promise: Promise<T>, why: string): Promise<T> {
    this.#waitReason = why;
    const value = await new Promise<T>((resolve, reject) => {
      this.#onEnd = reject;
      if (this.#reason) reject(this.#reason);
      promise.then(resolve, reject);
    });
    if (this.#deps.clock.monotonicMs() >= this.#deadlineMs) this.#end(this.#late());
    if (this.#reason) throw this.#reason;
    this.#waitReason = undefined;
    return value;
  }

  async send<T>(send: (options: CallOptions) => Promise<T>): Promise<T> {
    let isUnknown = false;
    for (let attempt = 0; ; attempt += 1) {
      if (this.#reason) throw this.#reason;
      try {
        const reply = await this.#attempt(send);
        this.#deps.noteOutage(undefined);
        return reply;
      } catch (thrown) {
        if (!(thrown instanceof SynclineError)) throw thrown;
        isUnknown ||= thrown.outcome === 'unknown';
        const last = isUnknown ? thrown.withOutcome('unknown') : thrown;
        const isOver = this.#reason !== undefined || !thrown.retryable;
        if (!isOver || thrown.code === 'timeout') this.#deps.noteOutage(thrown);
        if (isOver || !(await this.#pause(attempt))) throw this.#explain(last, attempt + 1);
      }
    }
  }

  [Symbol.dispose](): void {
    this.#onEnd = undefined;
    for (const cleanUp of this.#cleanups.splice(0)) cleanUp();
  }

  /** The store should end when its signal fires, but the caller does not wait for that. */
  async #attempt<T>(send: (options: CallOptions) => Promise<T>): Promise<T> {
    const { clock } = this.#deps;
    const stop = new AbortController();
    const attemptMs = Math.max(ATTEMPT_MS_MIN, this.#timeoutMs / SILENT_ATTEMPTS);
    return await new Promise<T>((resolve, reject) => {
      const timer = clock.setTimer(attemptMs, () => end(this.#late()));
      const end = (reason: SynclineError) => {
        timer.cancel();
        reject(this.#call.isWrite ? reason.withOutcome('unknown') : reason);
        stop.abort(reason);
      };
      this.#onEnd = end;
      void send({ signal: stop.signal })
        .then(resolve, reject)
        .finally(() => timer.cancel());
    });
  }

  /** False if there is no time for another attempt. Pauses get shorter towards the deadline, to make full use of it. */
  async #pause(attempt: number): Promise<boolean> {
    const { clock, random, retry } = this.#deps;
    const leftMs = this.#deadlineMs - clock.monotonicMs();
    if (leftMs < retry.initialMs) return false;
    const waitMs = Math.min(backoffMs(attempt, retry, random), leftMs / 2);
    const over = new AbortController();
    this.#onEnd = () => over.abort();
    await clock.sleep(waitMs, over.signal).catch(() => {});
    return this.#reason === undefined;
  }

  #follow(cause: AbortSignal, reasonOf: () => SynclineError): void {
    const end = () => this.#end(reasonOf());
    if (cause.aborted) end();
    cause.addEventListener('abort', end);
    this.#cleanups.push(() => cause.removeEventListener('abort', end));
  }

  #end(reason: SynclineError): void {
    if (this.#reason) return;
    this.#reason = reason;
    const onEnd = this.#onEnd;
    this[Symbol.dispose](); // at once: `close` does not wait for the call to return
    onEnd?.(reason);
  }

  #late(): SynclineError {
    const { what, details = {} } = this.#call;
    const inTime = `within ${this.#timeoutMs} ms`;
    if (this.#waitReason === undefined)
      return new SynclineError('timeout', `${what} got no reply ${inTime}`);
    const message = `🔴 ${what} failed: it could not be sent ${inTime}, because ${this.#waitReason}. It was not applied.`;
    return new SynclineError('timeout', message, { details });
  }

  /** The error for the caller: which call failed, after how many attempts, and what to do next. */
  #explain(last: SynclineError, attempts: number): SynclineError {
    const { what, isWrite, details } = this.#call;
    if (!last.retryable && last.code !== 'aborted') return last; // the store's own error
    const { outcome } = last;
    const seen = this.#reason?.with({ outcome, cause: last }) ?? last;
    if (!seen.retryable) return seen;
    const { code, retryable } = seen;
    const times = attempts === 1 ? '' : ` after ${attempts} attempts`;
    const next = details ? ': repeat it with the eventId in details, or read the state.' : '.';
    const result =
      outcome === 'not-applied' ? 'It was not applied.' : `It may have been applied${next}`;
    const story = `🔴 ${what} failed${times}: ${last.message.replace(/\.$/, '')}`;
    const message = isWrite ? `${story}. ${result}` : story;
    const all = { ...seen.details, ...details };
    return new SynclineError(code, message, { retryable, outcome, details: all, cause: last });
  }
}
