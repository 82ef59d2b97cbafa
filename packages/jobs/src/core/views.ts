// What callers see of rows.
import type { JobInfo, TaskLease } from '../job.js';
import type { HeadRow, JobRow, TaskRow } from './rows.js';

export function jobInfoOf(row: JobRow, head: Pick<HeadRow, 'revision' | 'timestampMs'>): JobInfo {
  const { metadataRevision: _, ...metadata } = row;
  return { ...metadata, revision: head.revision, changedAtMs: head.timestampMs };
}

/** `nowMs` is the moment of its last renewal. */
export function leaseOf(row: TaskRow, nowMs: number): TaskLease {
  const expires = row.state === 'held' && row.ttlMs > 0;
  return { ...row, expiresAtMs: expires ? Math.floor(nowMs) + row.ttlMs : 0 };
}
