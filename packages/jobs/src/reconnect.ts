// When to reconnect after the connection to a store is lost, and when to give up. The same for all remote stores.
//
// The waits are long enough for a server to start, and spread so that 1,000 subscribers do not reconnect at once.
import { SynclineError } from '@syncline/kernel';
import { integer, members, orDefault } from '@syncline/kernel/checks';
import type { Cursor } from './job-store.js';

export interface ReconnectOptions {
  /** Consecutive failed attempts after which subscriptions end with `unavailable`. Default 5, which is 15 to 31 s. */
  readonly attempts?: number;
  /** Upper bound of the first wait, in ms. It doubles with each attempt. Default 1,000. */
  readonly initialMs?: number;
  /** The longest wait, in ms. Matters only if `attempts` is raised. Default 60,000. */
  readonly maxMs?: number;
}

/** Thrown by a subscription when all attempts have failed. */
export function storeUnreachable(
  { attempts }: Required<ReconnectOptions>,
  { cursor, cause }: { readonly cursor: Cursor | undefined; readonly cause: SynclineError },
): SynclineError {
  const detail = cause.message.replace(/\.$/, '');
  const message = `the job store was unreachable for ${attempts} attempts: ${detail}. Subscribe again with the cursor in details.`;
  const details = cursor === undefined ? {} : { cursor };
  return new SynclineError('unavailable', message, { details, cause });
}

const DAY_MS = 86_400_000;
const checkOptions = members<Required<ReconnectOptions>>({
  attempts: orDefault(integer('attempts', 1, 1_000_000), 5),
  initialMs: orDefault(integer('initialMs', 1, DAY_MS), 1_000),
  maxMs: orDefault(integer('maxMs', 1, DAY_MS), 60_000),
});

/** Fills in the defaults, also for fields that are explicitly undefined. */
export const checkReconnect = (options: ReconnectOptions = {}) =>
  checkOptions(options, 'reconnect');
