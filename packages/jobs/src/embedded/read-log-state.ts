// Reads the state that a record of the log holds.
import type { StorageReads } from '@syncline/kernel';
import type { State } from '../state.js';
import { LogRecord } from './change-codec.js';
import { logKey } from './keys.js';
import type { LoadedJob } from './loaded-job.js';
import { corruptRow } from './row-reader.js';

/** Undefined: the record is not there. Throws `corrupt`. */
export function findLogState(
  reads: Pick<StorageReads, 'get'>,
  job: LoadedJob,
  revision: number,
): State | undefined {
  const key = logKey(job.jobNo, revision);
  const bytes = reads.get(key);
  if (!bytes) return undefined;
  const change = new LogRecord(key, bytes).change(job.logContext);
  if (change.kind !== 'state') throw corruptRow(key);
  return change.state;
}

/** One that must be there: a missing record is damage. */
export function readLogState(
  reads: Pick<StorageReads, 'get'>,
  job: LoadedJob,
  revision: number,
): State {
  const state = findLogState(reads, job, revision);
  if (!state) throw corruptRow(logKey(job.jobNo, revision));
  return state;
}
