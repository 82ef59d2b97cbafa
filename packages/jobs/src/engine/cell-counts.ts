// Counts cells per status class, and sums their progress. Used by aggregates, job heads, job lists and the plain fold.
//
// Progress is summed in integer millionths, so that the sum does not depend on the order of writes.
import { assert } from '@syncline/kernel';
import {
  type Counts,
  compareTags,
  type Progress,
  type StatusClass,
  severityOf,
  statusClass,
  type TagProgress,
  withoutPayload,
} from '../job.js';

export const UNITS = 1_000_000;

export function progressUnits(status: number, progress: number | undefined): number {
  if (statusClass(status) === 'finished') return 0; // counted by its class
  return Math.round((progress ?? 0) * UNITS);
}

export class ClassCounts {
  notStarted = 0;
  running = 0;
  finished = 0;
  warned = 0;
  failed = 0;
  /** Sum of the progress of unfinished cells, in millionths. */
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

  /** The mean over all cells, rounded down to a tenth: at most 99.9 until the last cell is finished. */
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
 * Totals over the rows of a job. Cells that were never written have no row and are derived: with expected tags, every
 * task has one cell per tag; without them, a task that has written nothing counts as one cell.
 */
export class CellCounts extends ClassCounts {
  silentTasks: number;
  /** Number of written cells with an expected tag. */
  expectedWritten = 0;
  lostTasks = 0;
  /**
   * Sums of the versions of all cells and the epochs of all tasks. LevelDB silently drops damaged log records, and
   * acknowledged writes with them; these sums then no longer match the rows.
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

  /** All cells of a job, written or not. */
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

// Finds the lowest and the worst cell, given in any order.
//
// Ties go to the lowest task, then to the lowest tag by bytes, so that all stores give the same result.

export interface Cell {
  readonly taskId: number;
  readonly tag: string;
  readonly status: number;
}

/** A map key for a cell. */
export function cellName(taskId: number, tag: string): string {
  return `${taskId} ${tag}`;
}

export class BestCells<C extends Cell = Cell> {
  #lowest: C | undefined;
  #worst: C | undefined;

  /** Requires at least one offered cell. Every job has a task, and a task without tags counts as one cell. */
  get lowest(): C {
    assert(this.#lowest !== undefined, 'a scope has at least one cell');
    return this.#lowest;
  }

  get worst(): C {
    assert(this.#worst !== undefined, 'a scope has at least one cell');
    return this.#worst;
  }

  offer(cell: C): void {
    const lowest = this.#lowest;
    const worst = this.#worst;
    if (!lowest || comesFirst(cell, lowest, cell.status - lowest.status)) this.#lowest = cell;
    if (!worst || comesFirst(cell, worst, severityOf(cell.status) - severityOf(worst.status)))
      this.#worst = cell;
  }
}

function comesFirst(cell: Cell, best: Cell, byKey: number): boolean {
  if (byKey !== 0) return byKey < 0;
  if (cell.taskId !== best.taskId) return cell.taskId < best.taskId;
  return compareTags(cell.tag, best.tag) < 0;
}

// Builds a Progress from a summary by looking up the states of its lowest and worst cells.

export interface CellsSummary {
  readonly cells: Counts;
  readonly percent: number;
  readonly lowest: Cell;
  readonly worst: Cell;
}

export interface ScopeSummary extends CellsSummary {
  readonly lostTasks: number;
  readonly tags: readonly (CellsSummary & { readonly tag: string })[];
}

/** `stateOf` returns the default state for a cell that was never written. */
export function progressOf<S extends object>(
  revision: number,
  summary: ScopeSummary,
  stateOf: (cell: Cell) => S,
): Progress<S> {
  const partOf = ({ cells, percent, lowest, worst }: CellsSummary): Omit<TagProgress<S>, 'tag'> => {
    const isSame = lowest.taskId === worst.taskId && lowest.tag === worst.tag;
    const lowestState = stateOf(lowest);
    const worstState = isSame ? lowestState : stateOf(worst);
    return { cells, percent, lowest: lowestState, worst: worstState };
  };
  const tags = summary.tags.map((row) => {
    const { lowest, worst, ...part } = partOf(row);
    // With 256 tags, payloads would dominate the size.
    return {
      tag: row.tag,
      ...part,
      lowest: withoutPayload(lowest),
      worst: withoutPayload(worst),
    };
  });
  return { revision, ...partOf(summary), lostTasks: summary.lostTasks, tags };
}
