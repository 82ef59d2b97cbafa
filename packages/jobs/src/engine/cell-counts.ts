// The one counter of cells: per class, and how far they are. Aggregates, the head of a job, lists of jobs and the
// plain fold all count with it.
//
// Progress is summed in whole millionths, so that the sum does not depend on the order of the writes.
import type { Counts } from '../progress.js';
import { type StatusClass, statusClass } from '../status.js';

/** Progress is counted in these parts of a whole. */
export const UNITS = 1_000_000;

export function progressUnits(status: number, progress: number | undefined): number {
  if (statusClass(status) === 'finished') return 0; // counted by its class
  return Math.round((progress ?? 0) * UNITS);
}

/** Counts of cells by class. */
export class ClassCounts {
  notStarted = 0;
  running = 0;
  finished = 0;
  warned = 0;
  failed = 0;
  /** Progress of cells that are not finished, in millionths. */
  units = 0;

  add(status: number, units: number, amount = 1): void {
    this[FIELDS[statusClass(status)]] += amount;
    this.units += units * amount;
  }

  addAll(other: ClassCounts): void {
    this.notStarted += other.notStarted;
    this.running += other.running;
    this.finished += other.finished;
    this.warned += other.warned;
    this.failed += other.failed;
    this.units += other.units;
  }

  get total(): number {
    return this.notStarted + this.running + this.finished + this.warned + this.failed;
  }

  toCounts(): Counts {
    const { notStarted, running, finished, warned, failed, total } = this;
    return { notStarted, running, finished, warned, failed, total };
  }

  /** The mean of all cells, cut to a tenth: 99.9 until the last cell is finished. */
  percent(): number {
    const { finished, units, total } = this;
    if (total === 0) return 0;
    if (finished === total) return 100;
    const tenths = Math.floor((1000 * (finished * UNITS + units)) / (total * UNITS));
    return Math.min(tenths, 999) / 10;
  }
}

const FIELDS = {
  'not-started': 'notStarted',
  running: 'running',
  finished: 'finished',
  warned: 'warned',
  failed: 'failed',
} as const satisfies Record<StatusClass, keyof Counts>;

/**
 * What the rows of a job add up to. Cells that were never written have no row and are derived: with expected tags
 * every task has one cell for each, without them a task that wrote nothing stands as one cell.
 */
export class CellCounts extends ClassCounts {
  /** Tasks that wrote nothing. */
  silentTasks: number;
  /** Cells of expected tags that were written. */
  expectedWritten = 0;
  lostTasks = 0;
  /**
   * The versions of all cells and the epochs of all tasks. LevelDB drops damaged records of its log in silence, and
   * with one of them acknowledged writes; these sums do not match the rows then.
   */
  versions = 0;
  epochs = 0;

  constructor(numTasks: number) {
    super();
    this.silentTasks = numTasks;
  }

  clone(): CellCounts {
    return Object.assign(new CellCounts(0), this);
  }

  /** All cells of a job: those that were written, and those that were not. */
  all({
    numTasks,
    expectedTags,
  }: {
    readonly numTasks: number;
    readonly expectedTags: readonly string[];
  }): ClassCounts {
    const counts = new ClassCounts();
    counts.addAll(this);
    counts.notStarted +=
      expectedTags.length === 0
        ? this.silentTasks
        : expectedTags.length * numTasks - this.expectedWritten;
    return counts;
  }
}
