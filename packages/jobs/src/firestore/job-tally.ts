// What is counted of a job, kept in its document with every write: a list of jobs needs nothing else.
//
// Cells that nobody wrote are not counted but derived: an expected tag has one of each task, and a task that
// wrote nothing has one if no tag is expected.
import type { JobRow } from '../core/rows.js';
import { ClassCounts } from '../engine/cell-counts.js';
import type { Counts } from '../progress.js';

export type JobTally = Readonly<{
  /** Written states per class. */
  classes: Omit<Counts, 'total'>;
  /** How many tasks have written a tag. */
  tags: ReadonlyMap<string, number>;
  /** Tasks that have written something. */
  tasks: number;
  lostTasks: number;
}>;

export const EMPTY_TALLY: JobTally = {
  classes: { notStarted: 0, running: 0, finished: 0, warned: 0, failed: 0 },
  tags: new Map(),
  tasks: 0,
  lostTasks: 0,
};

export type WrittenState = Readonly<{
  tag: string;
  status: number;
  /** Undefined: the first write of this key. */
  statusBefore: number | undefined;
  /** The task has written nothing before. */
  isFirstOfTask: boolean;
}>;

export function tallyState(tally: JobTally, written: WrittenState): JobTally {
  const { tag, status, statusBefore, isFirstOfTask } = written;
  const classes = Object.assign(new ClassCounts(), tally.classes);
  classes.add(status, 0);
  if (statusBefore !== undefined) {
    classes.add(statusBefore, 0, -1);
    return { ...tally, classes: plain(classes) };
  }
  const tags = new Map(tally.tags).set(tag, (tally.tags.get(tag) ?? 0) + 1);
  const tasks = tally.tasks + (isFirstOfTask ? 1 : 0);
  return { ...tally, classes: plain(classes), tags, tasks };
}

/** All cells of the job, those never written included. */
export function cellsOf(
  tally: JobTally,
  { numTasks, expectedTags }: Pick<JobRow, 'numTasks' | 'expectedTags'>,
): ClassCounts {
  const counts = Object.assign(new ClassCounts(), tally.classes);
  for (const tag of expectedTags) counts.notStarted += numTasks - (tally.tags.get(tag) ?? 0);
  if (expectedTags.length === 0) counts.notStarted += numTasks - tally.tasks;
  return counts;
}

function plain(counts: ClassCounts): JobTally['classes'] {
  const { total: _, ...classes } = counts.toCounts();
  return classes;
}
