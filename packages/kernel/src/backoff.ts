// Exponential backoff with jitter, so that many clients do not come back at the same time.
//
// K8  If any attempt may have been applied, the final error says `outcome: 'unknown'`.
import type { Clock } from './clock.js';
import { SynclineError } from './error.js';
import type { Random } from './random.js';

export interface BackoffOptions {
  /** Upper bound of the first delay, in ms. It doubles with each attempt. */
  readonly initialMs: number;
  /** Upper bound of every delay. */
  readonly maxMs: number;
  /** `full`: anything from 0 to the bound, spreads best. `half`: at least half of it. Default `full`. */
  readonly jitter?: 'full' | 'half';
}

export interface RetryOptions extends BackoffOptions {
  /** Number of attempts in total, including the first. */
  readonly attempts: number;
  readonly signal?: AbortSignal;
}

/** The delay after failure number `attempt`, counted from 0. */
export function backoffMs(attempt: number, options: BackoffOptions, random: Random): number {
  const boundMs = Math.min(options.maxMs, options.initialMs * 2 ** attempt);
  return options.jitter === 'half'
    ? boundMs * (0.5 + random.float() / 2)
    : boundMs * random.float();
}

/**
 * Retries until it succeeds, the error is not retryable, or the attempts are used up; then throws the last error.
 * Only a SynclineError is retried: anything else is a bug, which a retry cannot fix.
 */
export async function retry<T>(
  deps: { readonly clock: Clock; readonly random: Random },
  options: RetryOptions,
  attempt: (attemptNumber: number) => Promise<T>,
): Promise<T> {
  let isOutcomeUnknown = false;
  for (let number = 0; ; number += 1) {
    try {
      return await attempt(number);
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
      isOutcomeUnknown ||= thrown.outcome === 'unknown';
      const isLast = number + 1 >= options.attempts || options.signal?.aborted === true;
      if (isLast || !thrown.retryable)
        throw isOutcomeUnknown ? thrown.withOutcome('unknown') : thrown;
    }
    try {
      await deps.clock.sleep(backoffMs(number, options, deps.random), options.signal);
    } catch (thrown) {
      const aborted = SynclineError.from(thrown);
      throw isOutcomeUnknown ? aborted.withOutcome('unknown') : aborted;
    }
  }
}
