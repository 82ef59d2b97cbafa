// Applies values from the service. A snapshot may arrive in several messages; cells that none of them lists are
// 0. No other message of its seed arrives in between.
//
// F3  Every probability stored is in [0, 1], whatever arrives: a cell that the structure does not have, or a
// value that is not a probability, is ignored.
import type { Cells } from '../cells.js';
import { cellAt, type SharedStructure, type SharedView } from './shared-view.js';

/** Calls back for each value that can be used. */
export function eachCell(
  view: SharedView,
  cells: Cells,
  visit: (cell: number, probability: number) => void,
): void {
  for (let index = 0; index < cells.count; index += 1) {
    const cell = cellAt(view, cells.rows[index] ?? -1, cells.columns[index] ?? -1);
    const probability = cells.probabilities[index] ?? Number.NaN;
    if (cell >= 0 && probability >= 0 && probability <= 1) visit(cell, probability);
  }
}

/** Applies our own outcomes, which the service may not have yet, to its value. */
export function rebase(
  structure: SharedStructure,
  cell: number,
  probability: number,
  nowMs: number,
): void {
  structure.overwrite(cell, structure.pending.rebase(cell, probability, nowMs), nowMs);
}

/**
 * Resets a cell to the service's latest value, decayed, plus unsent outcomes. Returns it without those;
 * undefined if no value arrived since the cell's round was taken.
 */
export function revert(
  structure: SharedStructure,
  cell: number,
  nowMs: number,
): number | undefined {
  const { pending } = structure;
  const saidTimeMs = pending.saidTimeMs(cell);
  if (Number.isNaN(saidTimeMs)) return undefined;
  structure.overwrite(cell, pending.saidProbability(cell), saidTimeMs);
  const probability = structure.probabilityAt(cell, nowMs);
  structure.overwrite(cell, pending.unsent.applied(cell, probability), nowMs);
  return probability;
}

export class SnapshotIntake {
  readonly #structure: SharedStructure;
  readonly #isListed: Uint8Array;

  constructor(structure: SharedStructure, cellsCount: number) {
    this.#structure = structure;
    this.#isListed = new Uint8Array(cellsCount);
  }

  take(cell: number, probability: number, nowMs: number): void {
    this.#isListed[cell] = 1;
    rebase(this.#structure, cell, probability, nowMs);
  }

  /** The last message has arrived. */
  finish(nowMs: number): void {
    this.#isListed.forEach((listed, cell) => {
      if (listed === 0) rebase(this.#structure, cell, 0, nowMs);
    });
  }
}
