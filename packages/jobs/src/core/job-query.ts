// Which jobs a list shows.
import type { JobQuery, JobSummary } from '../job.js';
import type { Counts } from '../progress.js';
import { STATUS_CLASSES, type StatusClass } from '../status.js';

/** By name alone: what is known before a job is looked at. */
export function isNameWanted({ prefix = '', afterJobId }: JobQuery, jobId: string): boolean {
  return jobId.startsWith(prefix) && (afterJobId === undefined || jobId > afterJobId);
}

export function isSummaryWanted({ worst }: JobQuery, { cells }: JobSummary): boolean {
  return worst === undefined || worst === worstClassOf(cells);
}

/** The most severe class that has a cell. A job has at least one. */
function worstClassOf(cells: Counts): StatusClass | undefined {
  return STATUS_CLASSES.find((each) => countOf(cells, each) > 0);
}

function countOf(cells: Counts, statusClass: StatusClass): number {
  return statusClass === 'not-started' ? cells.notStarted : cells[statusClass];
}
