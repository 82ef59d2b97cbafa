// How a manager or reader calls its store: within a time, tried again while that can help, and ended by the
// caller's signal or by closing. An attempt that hangs is given up after its share of the time, since its
// reply may be lost; a write keeps its event id, so that sending it again is harmless.
//
// J2  If any attempt of a write may have arrived, its failure says `outcome: 'unknown'`.
import { type Clock, type Outcome, type Random, retry, SynclineError } from '@syncline/kernel';
import type { CallOptions } from '../job-store.js';
import { CallBounds } from './call-bounds.js';

/** A share below this would give up on answers that are merely slow. */
const ATTEMPT_MS_MIN = 1_000;

export interface CallPolicy {
  /** For all attempts of a call together. */
  readonly timeoutMs: number;
  readonly retry: {
    /** How often a call is tried again. */
    readonly attempts: number;
    readonly initialMs: number;
    readonly maxMs: number;
  };
}

export interface StoreCall {
  /** For messages: `setState of tag "ingest"`. */
  readonly what: string;
  /** Whether an attempt that was not answered may have changed something. */
  readonly isWrite: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Fires with a SynclineError when whoever calls is closed. */
  readonly closing?: AbortSignal | undefined;
  /** Default: that of the policy. */
  readonly timeoutMs?: number;
  /** Goes into the details of a failure. */
  readonly details?: Readonly<Record<string, unknown>>;
}

export class StoreCalls {
  readonly #deps: { readonly clock: Clock; readonly random: Random };
  readonly #policy: CallPolicy;

  constructor(deps: { readonly clock: Clock; readonly random: Random }, policy: CallPolicy) {
    this.#deps = deps;
    this.#policy = policy;
  }

  async run<T>(call: StoreCall, send: (options: CallOptions) => Promise<T>): Promise<T> {
    const { what, signal, closing } = call;
    const { timeoutMs: defaultMs, retry: again } = this.#policy;
    const timeoutMs = call.timeoutMs ?? defaultMs;
    using bounds = new CallBounds(this.#deps.clock, { what, timeoutMs, signal, closing });
    if (bounds.reason !== undefined) throw bounds.reason;
    const attempts = again.attempts + 1;
    const attemptMs = Math.max(ATTEMPT_MS_MIN, timeoutMs / attempts);
    const failures: unknown[] = [];
    const options = {
      ...again,
      attempts,
      get signal() {
        return bounds.signal; // needed once something has failed
      },
    };
    try {
      return await retry(this.#deps, options, () =>
        this.#attempt(call, { bounds, attemptMs }, send).catch((thrown: unknown) => {
          failures.push(thrown);
          throw thrown;
        }),
      );
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
      throw explain(call, { error: thrown, ended: bounds.reason, failures });
    }
  }

  /** The store gets a signal and should obey it, but the caller does not wait until it has. */
  async #attempt<T>(
    { what, isWrite }: StoreCall,
    { bounds, attemptMs }: { readonly bounds: CallBounds; readonly attemptMs: number },
    send: (options: CallOptions) => Promise<T>,
  ): Promise<T> {
    using own = new CallBounds(this.#deps.clock, { what, timeoutMs: attemptMs });
    bounds.onEnd = (reason) => own.end(reason);
    return await new Promise<T>((resolve, reject) => {
      own.onEnd = (reason) => reject(isWrite ? withOutcome(reason, 'unknown') : reason);
      send({ signal: own.signal }).then(resolve, reject);
    });
  }
}

interface Failure {
  readonly error: SynclineError;
  /** Why the call was ended from outside; undefined if the attempts were used up. */
  readonly ended: SynclineError | undefined;
  /** Of each attempt. */
  readonly failures: readonly unknown[];
}

/** What a caller sees: which call it was, how often it was tried, and what to do next. */
function explain(call: StoreCall, { error, ended, failures }: Failure): SynclineError {
  if (!error.retryable && error.code !== 'aborted') return error; // the store's own word
  const cause = failures.at(-1);
  const seen = ended === undefined ? error : withOutcome(ended, error.outcome, cause);
  if (!seen.retryable) return seen;
  const { code, retryable, outcome, message, details } = seen;
  const story = cause instanceof SynclineError ? cause.message : message;
  const times = failures.length === 1 ? 'once' : `${failures.length} times`;
  const next = call.isWrite ? adviceOf(outcome, call) : '';
  return new SynclineError(
    code,
    `🔴 ${call.what} failed, tried ${times}: ${story.replace(/\.$/, '')}${next}`,
    {
      retryable,
      outcome,
      details: { ...details, ...call.details },
      cause,
    },
  );
}

function adviceOf(outcome: Outcome, { details = {} }: StoreCall): string {
  if (outcome === 'not-applied') return '. It was not applied.';
  return 'eventId' in details
    ? '. It may have been applied: repeat it with the eventId of the details, or read the state.'
    : '. It may have been applied.';
}

function withOutcome(error: SynclineError, outcome: Outcome, cause: unknown = error.cause) {
  const { code, message, retryable, details } = error;
  return new SynclineError(code, message, { retryable, details, outcome, cause });
}
