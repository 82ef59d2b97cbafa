// A subscription that is opened at its first pull, so that `subscribe` need not wait and what is wrong is
// thrown where the reader is.
import type { Cursor, JobEvent, JobSubscription } from '../job-event.js';

/** `open` is called once, at the first pull, unless `signal` has fired by then. */
export function deferSubscription(
  _open: (signal: AbortSignal) => Promise<JobSubscription> | JobSubscription,
  _signal?: AbortSignal,
): JobSubscription {
  throw new Error('not there yet');
}

export type { Cursor, JobEvent };
