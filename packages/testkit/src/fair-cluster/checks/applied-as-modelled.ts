// F5, F7  The store applies a change exactly as the plain model does: the same folds, in the order
// of their arrival, with decay by the time that passed.
import type { Applied, Namespace } from '@syncline/fair';
import { assert } from '@syncline/kernel';
import { type CellModel, listCells, NEGLIGIBLE_PROBABILITY } from '../cell-model.js';

export function checkAppliedAsModelled(
  model: CellModel,
  namespace: Namespace,
  { seed, cells }: Applied,
  nowMs: number,
): void {
  for (const cell of listCells(cells)) {
    const expected = model.probability(namespace, seed, cell, nowMs);
    assert(
      Math.abs(cell.probability - expected) <= NEGLIGIBLE_PROBABILITY,
      `F5: cell ${cell.row}:${cell.column} of "${namespace.name}" is ${cell.probability} in the store, but ${expected} according to its changes`,
    );
  }
}
