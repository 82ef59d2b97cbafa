// Decides what becomes of a job's metadata: created, updated, marked deleted.
//
// J1   Creation is revision 1; each later write of metadata takes the next one.
// J15  `numTasks` is set by the creation and never again: whoever creates a job that is there gets that one.
import type { JobInfo, JobPatch, JobSpec } from '../job.js';
import { type Applied, type JobRows, type Refused, refused, type WrittenTags } from './decision.js';
import { nextChange } from './next-change.js';
import {
  fullRefusal,
  noSuchJob,
  otherJobRefusal,
  tagsRefusal,
  tombstoneRefusal,
} from './refusals.js';
import type { HeadRow, JobRow } from './rows.js';
import { jobInfoOf } from './views.js';

export type JobApplied = Applied & Readonly<{ job: JobRow; info: JobInfo }>;

export type CreateDecision = Refused | JobUnchanged | JobApplied;
export type UpdateDecision = Refused | JobApplied;
export type MarkDecision = Refused | JobUnchanged | JobApplied;

/** The job is there already, or is marked already. */
type JobUnchanged = Readonly<{ kind: 'unchanged'; info: JobInfo }>;

/** Which job a call is about. Without an incarnation: whichever has the name now. */
export type MeantJob = Readonly<{ jobId: string; incarnation?: string | undefined }>;

/** What a store adds to a creation. */
export type Birth = Readonly<{
  /** Never given before. */
  incarnation: string;
  /** Jobs that the store has. */
  jobsCount: number;
  nowMs: number;
}>;

/** `spec` has passed `checkJobSpec`. */
export function decideCreate(
  rows: JobRows | undefined,
  spec: Required<JobSpec>,
  { incarnation, jobsCount, nowMs }: Birth,
): CreateDecision {
  if (rows) {
    const refusal = tombstoneRefusal(rows.job);
    if (refusal) return refused(refusal);
    return { kind: 'unchanged', info: jobInfoOf(rows.job, rows.head) };
  }
  const full = fullRefusal('jobsMax', jobsCount + 1, 'jobs');
  if (full) return refused(full);
  const head = nextChange({ revision: 0, timestampMs: 0, statesCount: 0 }, nowMs);
  return applied(head, { ...spec, incarnation, createdAtMs: head.timestampMs });
}

/** `patch` has passed `checkJobPatch`. */
export function decideUpdate(
  rows: (JobRows & Readonly<{ tags: WrittenTags }>) | undefined,
  { jobId, patch, incarnation }: MeantJob & Readonly<{ patch: JobPatch }>,
  nowMs: number,
): UpdateDecision {
  if (!rows) return refused(noSuchJob(jobId));
  const refusal = otherJobRefusal(rows.job, incarnation) ?? tombstoneRefusal(rows.job);
  if (refusal) return refused(refusal);
  const job = { ...rows.job, ...patch };
  const full = patch.expectedTags && tagsRefusal(job, rows.tags);
  return full ? refused(full) : applied(nextChange(rows.head, nowMs), job);
}

export function decideMark(
  rows: JobRows | undefined,
  { jobId, incarnation }: MeantJob,
  nowMs: number,
): MarkDecision {
  if (!rows) return refused(noSuchJob(jobId));
  const { job } = rows;
  const refusal = otherJobRefusal(job, incarnation);
  if (refusal) return refused(refusal);
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
