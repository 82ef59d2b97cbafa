// What can be done to a job in a transaction, together with other things.

import type { DocumentReference } from '@google-cloud/firestore';
import type { JobDocuments } from './document-refs.js';
import type { GroupRows } from './group-rows.js';

export interface JobOperation<T> {
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
