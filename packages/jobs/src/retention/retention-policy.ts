// When a job may go: some time after its last change, by what became of it.
import type { JobSummary } from '../job.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export type RetentionPolicy = Readonly<{
  /** How long a job stays whose cells are all finished, since its last change. Default 7 days. */
  finishedMs?: number;
  /** How long a job stays that is marked deleted, since it was marked. Default 1 hour. */
  markedMs?: number;
  /** How long any other job stays, since its last change. Default `Infinity`: for ever. */
  idleMs?: number;
}>;

/** Of a moment by the clock of the one who asks, which need not be the store's. */
export function isPastRetention(
  { job, cells }: JobSummary,
  policy: RetentionPolicy,
  nowMs: number,
): boolean {
  const { finishedMs = 7 * DAY_MS, markedMs = HOUR_MS } = policy;
  const { idleMs = Number.POSITIVE_INFINITY } = policy;
  if (job.deletedAtMs !== undefined) return nowMs - job.deletedAtMs >= markedMs;
  const isFinished = cells.total > 0 && cells.finished === cells.total;
  return nowMs - job.changedAtMs >= (isFinished ? finishedMs : idleMs);
}
