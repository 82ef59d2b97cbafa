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

type RetentionReason = 'finished' | 'marked' | 'idle';

/**
 * Why a job may go; undefined if it may not. Of a moment by the clock of the one who asks, which need not be
 * the store's.
 */
export function reasonToDelete(
  { job, cells }: JobSummary,
  policy: RetentionPolicy,
  nowMs: number,
): RetentionReason | undefined {
  const { finishedMs = 7 * DAY_MS, markedMs = HOUR_MS } = policy;
  const { idleMs = Number.POSITIVE_INFINITY } = policy;
  if (job.deletedAtMs !== undefined)
    return nowMs - job.deletedAtMs >= markedMs ? 'marked' : undefined;
  const unchangedMs = nowMs - job.changedAtMs;
  const isFinished = cells.total > 0 && cells.finished === cells.total;
  if (isFinished) return unchangedMs >= finishedMs ? 'finished' : undefined;
  return unchangedMs >= idleMs ? 'idle' : undefined;
}
