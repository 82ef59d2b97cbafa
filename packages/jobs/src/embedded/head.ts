// The head of a job: what moves with every change, so that no list of jobs has to look at their cells.
//
// Cells that were never written have no row, so they are not counted but derived: with expected tags every
// task has one cell for each, without them a task that wrote nothing stands as one cell.
import { ClassCounts } from '../aggregate/class-counts.js';
import type { HeadRow, JobRow } from '../core/rows.js';
import type { Counts } from '../progress.js';

/** Of the cells that were written. Status 0 can be written too. */
export type WrittenCounts = Readonly<Omit<Counts, 'total'>>;

/**
 * What the rows of a job add up to. LevelDB drops damaged records of its log in silence, and with one of them
 * acknowledged writes; these numbers do not fit then, because the head is written anew with every change.
 */
export interface RowSums {
  /** The versions of all cells. */
  readonly versions: number;
  /** The epochs of all tasks. */
  readonly epochs: number;
}

export interface JobHead extends HeadRow {
  /** Records up to here are in the log only if they are the latest of their key. */
  readonly compactedTo: number;
  readonly written: WrittenCounts;
  /** Tasks that wrote nothing. */
  readonly silentTasks: number;
  /** Cells of expected tags that were written. */
  readonly expectedWritten: number;
  readonly lostTasks: number;
  readonly logRecords: number;
  readonly sums: RowSums;
}

export function newHead(numTasks: number): JobHead {
  return {
    revision: 0,
    timestampMs: 0,
    statesCount: 0,
    compactedTo: 0,
    written: { notStarted: 0, running: 0, finished: 0, warned: 0, failed: 0 },
    silentTasks: numTasks,
    expectedWritten: 0,
    lostTasks: 0,
    logRecords: 0,
    sums: { versions: 0, epochs: 0 },
  };
}

/** The counts of all cells of a job. */
export function countsOfHead(
  { numTasks, expectedTags }: Pick<JobRow, 'numTasks' | 'expectedTags'>,
  { written, silentTasks, expectedWritten }: JobHead,
): Counts {
  const counts = Object.assign(new ClassCounts(), written);
  counts.notStarted +=
    expectedTags.length === 0 ? silentTasks : expectedTags.length * numTasks - expectedWritten;
  return counts.toCounts();
}
