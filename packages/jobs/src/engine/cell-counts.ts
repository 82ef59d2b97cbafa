// Counts of cells per status class, with the sum of their progress: of a tag, of a scope, and of a whole job.
//
// Progress is summed in integer millionths, so that the sum does not depend on the order of writes.
import type { Counts, Progress, StatusClass, TagProgress } from '../job.js';
import { mapProgress, statusClass, withoutPayload } from '../job.js';

export const UNITS = 1_000_000;

/** Finished cells have none: they are counted by their class. */
export function progressUnits(status: number, progress = 0): number {
  return statusClass(status) === 'finished' ? 0 : Math.round(progress * UNITS);
}

export const COUNT_OF = {
  'not-started': 'notStarted',
  running: 'running',
  finished: 'finished',
  warned: 'warned',
  failed: 'failed',
} as const satisfies Record<StatusClass, keyof Counts>;

export class ClassCounts {
  notStarted = 0;
  running = 0;
  finished = 0;
  warned = 0;
  failed = 0;
  /** Sum of the progress of unfinished cells, in millionths. */
  units = 0;

  add(status: number, units: number, amount: 1 | -1 = 1): void {
    this[COUNT_OF[statusClass(status)]] += amount;
    this.units += amount * units;
  }

  addAll(other: ClassCounts): void {
    for (const field of Object.values(COUNT_OF)) this[field] += other[field];
    this.units += other.units;
  }

  get total(): number {
    return this.notStarted + this.running + this.finished + this.warned + this.failed;
  }

  toCounts(): Counts {
    const { notStarted, running, finished, warned, failed, total } = this;
    return { notStarted, running, finished, warned, failed, total };
  }

  percent(): number {
    const { finished, units, total } = this;
    if (total === 0) return 0;
    if (finished === total) return 100;
    const tenths = Math.floor((1000 * (finished * UNITS + units)) / (total * UNITS));
    return Math.min(tenths, 999) / 10;
  }
}

/** Totals over the rows of a job. Cells that were never written have no row; `all` derives their number. */
export class CellCounts extends ClassCounts {
  silentTasks: number;
  expectedWritten = 0;
  lostTasks = 0;
  /** Sums of all versions and epochs. If LevelDB silently drops rows from its damaged log, they no longer add up. */
  versions = 0;
  epochs = 0;

  constructor(numTasks: number) {
    super();
    this.silentTasks = numTasks;
  }

  clone(): CellCounts {
    return Object.assign(new CellCounts(0), this);
  }

  all(job: Readonly<{ numTasks: number; expectedTags: readonly string[] }>): ClassCounts {
    const { length } = job.expectedTags;
    const counts = new ClassCounts();
    counts.addAll(this);
    counts.notStarted +=
      length === 0 ? this.silentTasks : length * job.numTasks - this.expectedWritten;
    return counts;
  }
}

export type Cell = Readonly<{ taskId: number; tag: string; status: number }>;

export function cellName(taskId: number, tag: string): string {
  return `${taskId} ${tag}`;
}

export type CellsSummary = Omit<TagProgress<Cell>, 'tag'>;

export type ScopeSummary = Omit<Progress<Cell>, 'revision'>;

/** `stateOf` returns the default state for a cell that was never written. */
export function progressOf<S extends object>(
  revision: number,
  summary: ScopeSummary,
  stateOf: (cell: Cell) => S,
): Progress<S> {
  // With 256 tags, payloads would dominate the size.
  const stateOfTag = (cell: Cell) => withoutPayload(stateOf(cell));
  return mapProgress({ revision, ...summary }, stateOf, stateOfTag);
}
