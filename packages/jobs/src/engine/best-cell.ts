// Finds the lowest and the worst of cells that are offered in any order.
//
// Ties go to the lowest task, then to the lowest tag by bytes, so that every store answers alike.
import { assert } from '@syncline/kernel';
import { severityOf } from '../status.js';
import { compareTags } from '../tag-order.js';

export interface Cell {
  readonly taskId: number;
  readonly tag: string;
  readonly status: number;
}

export class BestCells<C extends Cell = Cell> {
  #lowest: C | undefined;
  #worst: C | undefined;

  /** Something must have been offered: a job has a task, and a task without tags counts as one cell. */
  get lowest(): C {
    assert(this.#lowest !== undefined, 'a scope has at least one cell');
    return this.#lowest;
  }

  get worst(): C {
    assert(this.#worst !== undefined, 'a scope has at least one cell');
    return this.#worst;
  }

  offer(cell: C): void {
    this.offerLowest(cell);
    this.offerWorst(cell);
  }

  offerLowest(cell: C): void {
    const best = this.#lowest;
    if (!best || comesFirst(cell, best, cell.status - best.status)) this.#lowest = cell;
  }

  offerWorst(cell: C): void {
    const best = this.#worst;
    const bySeverity = best ? severityOf(cell.status) - severityOf(best.status) : 0;
    if (!best || comesFirst(cell, best, bySeverity)) this.#worst = cell;
  }
}

function comesFirst(cell: Cell, best: Cell, byKey: number): boolean {
  if (byKey !== 0) return byKey < 0;
  if (cell.taskId !== best.taskId) return cell.taskId < best.taskId;
  return compareTags(cell.tag, best.tag) < 0;
}
