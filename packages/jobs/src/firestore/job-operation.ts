// What can be done to a job in a transaction, together with other things.

import type { DocumentReference } from '@google-cloud/firestore';
import { jobsLimits } from '../limits.js';
import type { JobDocuments } from './document-refs.js';
import type { GroupRows } from './group-rows.js';

export interface JobOperation<T> {
  /** What it writes. A group has one operation of each, since a state is stamped when it is committed. */
  readonly key: string;
  /** What it counts towards the queue. */
  readonly bytes: number;
  /** What it reads besides the job document. */
  documents(documents: JobDocuments): readonly DocumentReference[];
  /**
   * Decides by the rows, and keeps there what changes. Throws what it is refused with. What it returns makes
   * the answer once the time of the commit is known.
   */
  decide(rows: GroupRows): (committedAtMs: number) => T;
}

/** How many of the first operations can go together: each key once. */
export function groupLength(
  queue: readonly { readonly operation: { readonly key: string } }[],
): number {
  const { value: writesMax } = jobsLimits.firestoreWritesMax;
  const keys = new Set<string>();
  for (const { operation } of queue.slice(0, writesMax)) {
    if (keys.has(operation.key)) break;
    keys.add(operation.key);
  }
  return keys.size;
}
