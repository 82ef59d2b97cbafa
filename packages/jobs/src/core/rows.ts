// What every store keeps, in whatever format: one row per job, task and cell, and a log of changes. The core takes rows
// and the time, and returns rows; a store reads them in one atomic step and stores the result in another.
import { assert } from '@syncline/kernel';
import type { JobInfo, TaskLease } from '../job.js';

export type JobRow = Omit<JobInfo, 'revision' | 'changedAtMs'> &
  /** The revision of its latest metadata write. */
  Readonly<{ metadataRevision: number }>;

export type HeadRow = Readonly<{
  revision: number;
  timestampMs: number;
  /** Number of distinct keys written. */
  statesCount: number;
}>;

/** `revision` is that of the last transition. */
export type TaskRow = Omit<TaskLease, 'expiresAtMs'>;

export type RecentWrite = Readonly<{
  eventId: string;
  version: number;
  revision: number;
  timestampMs: number;
  /** Digest of status, message, progress, schema version and payload. */
  digest: string;
}>;

export type CellRow = Readonly<{
  version: number;
  /** The revision of its latest change. */
  revision: number;
  status: number;
  /** 0 if the write had none. */
  progress: number;
  /** Newest first, at most `recentEventIdsMax`; the first is the latest write. */
  recent: readonly RecentWrite[];
}>;

export function jobInfoOf(row: JobRow, head: Pick<HeadRow, 'revision' | 'timestampMs'>): JobInfo {
  const { metadataRevision: _, ...metadata } = row;
  return { ...metadata, revision: head.revision, changedAtMs: head.timestampMs };
}

/** `nowMs` is the time of the last renewal. */
export function leaseOf(row: TaskRow, nowMs: number): TaskLease {
  const expires = row.state === 'held' && row.ttlMs > 0;
  return { ...row, expiresAtMs: expires ? Math.floor(nowMs) + row.ttlMs : 0 };
}

export type JobRows = Readonly<{ job: JobRow; head: HeadRow }>;

/** Tags written by at least one task. */
export type WrittenTags = Pick<ReadonlySet<string>, 'size' | 'has'>;

/** J1: revisions rise by exactly one. J19: the timestamp never goes back, even if the clock does. */
export function nextChange(head: HeadRow, nowMs: number): HeadRow {
  assert(head.revision < Number.MAX_SAFE_INTEGER, 'J1: revisions stay below 2^53');
  const timestampMs = Math.max(head.timestampMs, Math.floor(nowMs));
  return { revision: head.revision + 1, timestampMs, statesCount: head.statesCount };
}
