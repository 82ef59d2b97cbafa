// F14  After a join no cell is below the view that was uploaded.
import type { Cells } from '@syncline/fair';
import { assert } from '@syncline/kernel';
import { listCells } from '../cell-model.js';

export function checkViewHolds(view: Cells, held: Cells): void {
  const values = new Map(
    listCells(held).map(({ row, column, probability }) => [`${row}:${column}`, probability]),
  );
  for (const { row, column, probability } of listCells(view)) {
    const value = values.get(`${row}:${column}`) ?? 0;
    assert(
      value >= probability,
      `F14: cell ${row}:${column} is ${value} after a join, below the view's ${probability}`,
    );
  }
}
