// When to try again after a store was lost, and when to give up: the same for every store beyond this process.
//
// The wait before attempt k = 0, 1, 2 … is min(maxMs, initialMs · 2^k) · u with u in [0.5, 1): long enough for a
// server to start, spread so that 1 000 subscribers do not come back in the same moment.
import { backoffMs, type Random, SynclineError } from '@syncline/kernel';
import type { Cursor } from './job-event.js';

export interface ReconnectOptions {
  /** Attempts that may fail in a row before subscriptions end with `unavailable`. Default 5: 15 to 31 s. */
  readonly attempts?: number;
  /** Bound of the first wait; it doubles with each attempt. Default 1 s. */
  readonly initialMs?: number;
  /** No wait is longer. Default 60 s. It matters once `attempts` is raised. */
  readonly maxMs?: number;
}

export const RECONNECT_DEFAULTS: Required<ReconnectOptions> = {
  attempts: 5,
  initialMs: 1_000,
  maxMs: 60_000,
};

/** `attempt` counts from 0. */
export function reconnectDelayMs(
  attempt: number,
  { initialMs, maxMs }: Required<ReconnectOptions>,
  random: Random,
): number {
  return backoffMs(attempt, { initialMs, maxMs, jitter: 'half' }, random);
}

/** What a subscription throws once all attempts have failed. */
export function outOfReach(
  { attempts }: Required<ReconnectOptions>,
  { cursor, cause }: { readonly cursor: Cursor | undefined; readonly cause: SynclineError },
): SynclineError {
  const story = cause.message.replace(/\.$/, '');
  return new SynclineError(
    'unavailable',
    `the store of the jobs was out of reach for ${attempts} attempts: ${story}. Subscribe again with the cursor in details.`,
    { details: cursor === undefined ? {} : { cursor }, cause },
  );
}
