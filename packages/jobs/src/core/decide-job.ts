// Decides changes to a job's metadata: creation, updates, and marking as deleted.
//
// J1   Creation is revision 1; each later write of metadata takes the next one.
// J15  `numTasks` is set at creation and never changes: creating a job that exists returns the existing one.
import type { JobInfo, JobPatch, JobSpec } from '../job.js';
import {
  checkIncarnationOf,
  checkRoom,
  checkTagsCount,
  checkUnmarked,
  noSuchJob,
} from './refusals.js';
import type { HeadRow, JobRow } from './rows.js';
import { type Applied, type JobRows, jobInfoOf, nextChange, type WrittenTags } from './rows.js';

export type JobApplied = Applied & Readonly<{ job: JobRow; info: JobInfo }>;

type JobUnchanged = Readonly<{ kind: 'unchanged'; info: JobInfo }>;

/** The job that a call refers to. Without an incarnation, whichever job has the id now. */
export type MeantJob = Readonly<{ jobId: string; incarnation?: string | undefined }>;

export type Birth = Readonly<{
  /** Never used before. */
  incarnation: string;
  jobsCount: number;
  nowMs: number;
}>;

/** `spec` has passed `checkJobSpec`. */
export function decideCreate(
  rows: JobRows | undefined,
  spec: Required<JobSpec>,
  { incarnation, jobsCount, nowMs }: Birth,
): JobUnchanged | JobApplied {
  if (rows) {
    checkUnmarked(rows.job);
    return { kind: 'unchanged', info: jobInfoOf(rows.job, rows.head) };
  }
  checkRoom('jobsMax', jobsCount + 1, 'jobs');
  const head = nextChange({ revision: 0, timestampMs: 0, statesCount: 0 }, nowMs);
  return applied(head, { ...spec, incarnation, createdAtMs: head.timestampMs });
}

/** `patch` has passed `checkJobPatch`. */
export function decideUpdate(
  rows: (JobRows & Readonly<{ tags: WrittenTags }>) | undefined,
  { jobId, patch, incarnation }: MeantJob & Readonly<{ patch: JobPatch }>,
  nowMs: number,
): JobApplied {
  if (!rows) throw noSuchJob(jobId);
  checkIncarnationOf(rows.job, incarnation);
  checkUnmarked(rows.job);
  const job = { ...rows.job, ...patch };
  if (patch.expectedTags) checkTagsCount(job, rows.tags);
  return applied(nextChange(rows.head, nowMs), job);
}

export function decideMark(
  rows: JobRows | undefined,
  { jobId, incarnation }: MeantJob,
  nowMs: number,
): JobUnchanged | JobApplied {
  if (!rows) throw noSuchJob(jobId);
  const { job } = rows;
  checkIncarnationOf(job, incarnation);
  if (job.deletedAtMs !== undefined) return { kind: 'unchanged', info: jobInfoOf(job, rows.head) };
  const head = nextChange(rows.head, nowMs);
  return applied(head, { ...job, deletedAtMs: head.timestampMs });
}

function applied(head: HeadRow, metadata: Omit<JobRow, 'metadataRevision'>): JobApplied {
  const { revision, timestampMs } = head;
  const job = { ...metadata, metadataRevision: revision };
  const info = jobInfoOf(job, head);
  return {
    kind: 'apply',
    head,
    job,
    info,
    changes: [{ kind: 'job', revision, timestampMs, job: info }],
  };
}
