// Why a change is refused that was well formed: the job, its tombstone, the fence, the event id, its limits.
import { SynclineError } from '@syncline/kernel';
import { invalidArgument, limitExceeded } from '../checks/refuse.js';
import { type JobsLimitName, jobsLimits } from '../limits.js';
import type { WrittenTags } from './decision.js';
import type { JobRow, TaskRow } from './rows.js';

export function noSuchJob(jobId: string): SynclineError {
  return new SynclineError(
    'not-found',
    `there is no job "${jobId}": it was never created here, or was deleted`,
    { details: { jobId } },
  );
}

/** Undefined: the job takes writes. */
export function tombstoneRefusal({ jobId, deletedAtMs }: JobRow): SynclineError | undefined {
  if (deletedAtMs === undefined) return undefined;
  const since = new Date(deletedAtMs).toISOString();
  return new SynclineError(
    'conflict',
    `job "${jobId}" was marked deleted at ${since} and takes no writes. Delete it to use the name again.`,
    { details: { reason: 'marked-deleted', jobId } },
  );
}

/** Who wants to write: what a manager got when it claimed its task. */
export interface Claimant {
  readonly incarnation: string;
  readonly taskId: number;
  readonly epoch: number;
}

/** J13: only the newest claim of this incarnation passes. A task that it does not have is a plain mistake. */
export function fenceRefusal(
  job: JobRow,
  task: TaskRow | undefined,
  claimant: Claimant,
): SynclineError | undefined {
  const refusal = incarnationRefusal(job, claimant);
  if (refusal) return refusal;
  const { taskId, epoch } = claimant;
  if (task?.epoch === epoch) return undefined;
  return fenced(`task ${taskId} of job "${job.jobId}" ${epochStory(task, epoch)}`, {
    reason: 'epoch',
    epoch: task?.epoch ?? 0,
  });
}

/** J13: a call that means another incarnation under this name changes nothing. Undefined: it means any. */
export function otherJobRefusal(
  { jobId, incarnation }: Pick<JobRow, 'jobId' | 'incarnation'>,
  meant: string | undefined,
): SynclineError | undefined {
  if (meant === undefined || meant === incarnation) return undefined;
  const message = `job "${jobId}" was deleted and created again: this caller belongs to the earlier one. Stop it, or let it start anew.`;
  return fenced(message, { reason: 'incarnation', incarnation });
}

/** The part of the fence that a claim must pass too. */
export function incarnationRefusal(
  job: JobRow,
  claimant: Omit<Claimant, 'epoch'>,
): SynclineError | undefined {
  const { jobId, numTasks } = job;
  const refusal = otherJobRefusal(job, claimant.incarnation);
  if (refusal) return refusal;
  if (claimant.taskId < numTasks) return undefined;
  return invalidArgument('taskId', claimant.taskId, `0 to ${numTasks - 1}, as job "${jobId}" has`);
}

function epochStory(task: TaskRow | undefined, epoch: number): string {
  if (!task) return `was never claimed here, but epoch ${epoch} says so. Claim it first.`;
  if (epoch < task.epoch)
    return `was claimed by another process since (epoch ${task.epoch}, here ${epoch}). Stop this one.`;
  return `never had epoch ${epoch}; the latest is ${task.epoch}. Was the store restored? Claim the task again.`;
}

function fenced(message: string, details: Readonly<Record<string, unknown>>): SynclineError {
  return new SynclineError('fenced', message, { details });
}

export function eventIdReused(eventId: string, tag: string): SynclineError {
  return new SynclineError(
    'conflict',
    `event id "${eventId}" was used for another write of tag "${tag}". Give each write its own; only a retry keeps it.`,
    { details: { reason: 'event-id', eventId } },
  );
}

/** Expected tags count too: a job must be able to write them all. */
export function tagsRefusal(
  job: Pick<JobRow, 'jobId' | 'expectedTags'>,
  written: WrittenTags,
  tag?: string,
): SynclineError | undefined {
  if (tag !== undefined && (written.has(tag) || job.expectedTags.includes(tag))) return undefined;
  const unwritten = job.expectedTags.filter((expected) => !written.has(expected)).length;
  const count = written.size + unwritten + (tag === undefined ? 0 : 1);
  return fullRefusal('tagsPerJobMax', count, `tags of job "${job.jobId}"`);
}

/** Undefined: `count` things fit. */
export function fullRefusal(
  limit: JobsLimitName,
  count: number,
  things: string,
): SynclineError | undefined {
  const { value } = jobsLimits[limit];
  if (count <= value) return undefined;
  return limitExceeded(limit, `no room for more ${things}: ${value} is the limit`);
}
