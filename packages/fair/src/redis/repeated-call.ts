// A call to Redis, repeated until its outcome is known. A repeated call must be idempotent: changes by their
// sequence number, everything else by its nature.
//
// The failure is reported when the budget ends or Redis counts as lost: with `unknown` if any attempt was sent
// and not answered.
import { backoffMs, SynclineError } from '@syncline/kernel';
import type { RedisConnection, RedisDeps } from './redis-connection.js';

const BACKOFF = { initialMs: 20, maxMs: 500 } as const;

export interface RepeatedCallDeps extends RedisDeps {
  readonly connection: RedisConnection;
}

export interface Answer<T> {
  readonly value: T;
  /** An earlier attempt may have been applied. */
  readonly wasRepeated: boolean;
}

export async function repeatedCall<T>(
  { clock, random, metrics, connection }: RepeatedCallDeps,
  budgetMs: number,
  attempt: () => Promise<T>,
): Promise<Answer<T>> {
  const { reachability } = connection;
  const endMs = clock.monotonicMs() + budgetMs;
  let isUnknown = false;
  for (let attempts = 0; ; attempts += 1) {
    try {
      if (reachability.isLost) throw lostError(isUnknown);
      return { value: await attempt(), wasRepeated: isUnknown };
    } catch (thrown) {
      const error = SynclineError.from(thrown);
      isUnknown ||= error.outcome === 'unknown';
      if (!error.retryable || reachability.isLost || clock.monotonicMs() >= endMs) {
        metrics.add('syncline_fair_store_errors_total', 1, { store: 'redis' });
        throw withOutcome(error, isUnknown);
      }
    }
    await clock.sleep(backoffMs(attempts, BACKOFF, random));
  }
}

/** Reports that nothing was sent only if no attempt was. */
function lostError(wasSent: boolean): SynclineError {
  return wasSent
    ? new SynclineError(
        'unavailable',
        'the connection to Redis was lost after an attempt was sent; whether it was applied is unknown',
        { outcome: 'unknown' },
      )
    : new SynclineError('unavailable', 'Redis is unreachable; nothing was sent');
}

function withOutcome(error: SynclineError, isUnknown: boolean): SynclineError {
  if (!isUnknown || error.outcome === 'unknown') return error;
  const { code, message, retryable, details } = error;
  return new SynclineError(code, message, { retryable, details, outcome: 'unknown', cause: error });
}
