// The form of every decision: what the core answers when it is asked whether a change may happen.
//
// A decision is a value. The store that asked keeps the rows of an `apply` in one atomic step, then publishes
// its changes; for anything else it keeps nothing.
import type { SynclineError } from '@syncline/kernel';
import type { DecidedChange, HeadRow, JobRow } from './rows.js';

export type Refused = Readonly<{ kind: 'refused'; error: SynclineError }>;

/** What every applied change comes with. `changes` are in order of revisions; the last is `head.revision`. */
export type Applied = Readonly<{
  kind: 'apply';
  head: HeadRow;
  changes: readonly DecidedChange[];
}>;

/** What is there of a job. */
export type JobRows = Readonly<{ job: JobRow; head: HeadRow }>;

/** Tags that some task has written. A `Set` is one. */
export interface WrittenTags {
  readonly size: number;
  has(tag: string): boolean;
}

export function refused(error: SynclineError): Refused {
  return { kind: 'refused', error };
}
