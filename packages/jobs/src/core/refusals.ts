// Reasons to refuse a well-formed change: missing job, marked as deleted, fenced, event id reused, limit reached.
import { SynclineError } from '@syncline/kernel';
import { invalidArgument } from '@syncline/kernel/checks';
import { checkRoom } from '../checks/values.js';
import type { LeaseRequest } from '../job.js';
import type { JobRow, TaskRow, WrittenTags } from './rows.js';

export function hasCode(thrown: unknown, code: SynclineError['code']): thrown is SynclineError {
  return thrown instanceof SynclineError && thrown.code === code;
}

/** Another transaction came first: a retry will read what that one wrote. */
export function isContention(thrown: unknown): boolean {
  return thrown instanceof SynclineError && thrown.details['reason'] === 'contention';
}

export function noSuchJob(jobId: string): SynclineError {
  const message = `no such job: "${jobId}" was never created here, or was deleted`;
  return new SynclineError('not-found', message, { details: { jobId } });
}

export function checkUnmarked({ jobId, deletedAtMs }: JobRow): void {
  if (deletedAtMs === undefined) return;
  const since = new Date(deletedAtMs).toISOString();
  const message = `job "${jobId}" was marked as deleted at ${since} and refuses writes. Delete it to reuse the name.`;
  throw new SynclineError('conflict', message, { details: { reason: 'marked-deleted', jobId } });
}

/** Identifies the writer: what a manager received when it claimed its task. */
export type Claimant = Pick<LeaseRequest, 'incarnation' | 'taskId' | 'epoch'>;

/** J13: only the newest claim of this incarnation passes. A task that the job does not have is an invalid argument. */
export function checkFence(job: JobRow, task: TaskRow | undefined, claimant: Claimant): void {
  checkClaimant(job, claimant);
  const { taskId, epoch } = claimant;
  if (task?.epoch === epoch) return;
  throw fenced(`task ${taskId} of job "${job.jobId}" ${describeEpoch(task, epoch)}`, {
    reason: 'epoch',
    epoch: task?.epoch ?? 0,
  });
}

/** J13: a call for another incarnation of the job changes nothing. If `meant` is undefined, any incarnation will do. */
export function checkIncarnationOf(
  { jobId, incarnation }: Pick<JobRow, 'jobId' | 'incarnation'>,
  meant: string | undefined,
): void {
  if (meant === undefined || meant === incarnation) return;
  const message = `job "${jobId}" was deleted and created again: this caller belongs to the earlier job. Stop or restart it.`;
  throw fenced(message, { reason: 'incarnation', incarnation });
}

/** The part of the fence that a claim must pass too. */
export function checkClaimant(job: JobRow, claimant: Omit<Claimant, 'epoch'>): void {
  const { jobId, numTasks } = job;
  checkIncarnationOf(job, claimant.incarnation);
  if (claimant.taskId < numTasks) return;
  throw invalidArgument('taskId', claimant.taskId, `0 to ${numTasks - 1} for job "${jobId}"`);
}

function describeEpoch(task: TaskRow | undefined, epoch: number): string {
  if (!task) return `was never claimed here, although the call has epoch ${epoch}. Claim it first.`;
  if (epoch < task.epoch)
    return `has since been claimed by another process (epoch ${task.epoch}, here ${epoch}). Stop this one.`;
  return `never had epoch ${epoch}; the latest is ${task.epoch}. Was the store restored? Claim the task again.`;
}

function fenced(message: string, details: Readonly<Record<string, unknown>>): SynclineError {
  return new SynclineError('fenced', message, { details });
}

export function eventIdReused(eventId: string, tag: string): SynclineError {
  const message = `event id "${eventId}" was already used for a different write to tag "${tag}". Use a new one for each write; only a retry reuses it.`;
  return new SynclineError('conflict', message, { details: { reason: 'event-id', eventId } });
}

/** The number of tags including `tag`. Expected tags count too: the job must be able to write all of them. */
export function tagsCount({ expectedTags }: JobRow, written: WrittenTags, tag?: string): number {
  const unwritten = expectedTags.filter((expected) => !written.has(expected)).length;
  const isNew = tag !== undefined && !written.has(tag) && !expectedTags.includes(tag);
  return written.size + unwritten + Number(isNew);
}

export function checkTagsCount(job: JobRow, written: WrittenTags, tag?: string): void {
  checkRoom('tagsPerJobMax', tagsCount(job, written, tag), `tags of job "${job.jobId}"`);
}
