// The status of a task for a tag: one int32. The numbers are the public contract.
//
//   ≤ −3 failed   −2 warned   −1 failed   0 not started   1 … 2147483646 running   2147483647 finished

export const JobStatus = {
  notStarted: 0,
  started: 1,
  finished: 2_147_483_647,
  error: -1,
  warning: -2,
} as const;

export type StatusClass = 'not-started' | 'running' | 'finished' | 'warned' | 'failed';

/** From the most to the least severe. */
export const STATUS_CLASSES = [
  'failed',
  'warned',
  'not-started',
  'running',
  'finished',
] as const satisfies readonly StatusClass[];

/** Total over int32. */
export function statusClass(status: number): StatusClass {
  if (status === JobStatus.finished) return 'finished';
  if (status > JobStatus.notStarted) return 'running';
  if (status === JobStatus.notStarted) return 'not-started';
  return status === JobStatus.warning ? 'warned' : 'failed';
}

/** The lower number comes first: it wins in `getState`. */
export function compareStatus(a: number, b: number): number {
  return a - b;
}

/**
 * A number that orders statuses by severity: failed, warned, not started, running, finished, and within a
 * class by number. It is the number itself, but −1 and −2 change places, because a warning has the lower one.
 */
export function severityOf(status: number): number {
  if (status === JobStatus.warning) return JobStatus.error;
  return status === JobStatus.error ? JobStatus.warning : status;
}
