// The tracker's two structures as the client sees them: it sends what is pending and writes the values from the
// service. Cells are numbered level by level.
import type { PendingFolds } from './pending-folds.js';

export interface SharedStructure {
  readonly seed: number;
  readonly pending: PendingFolds;
  probabilityAt(cell: number, nowMs: number): number;
  /** The probability as of `timeMs`, of the monotonic clock. */
  overwrite(cell: number, probability: number, timeMs: number): void;
}

export interface SharedView {
  readonly levels: number;
  readonly columns: number;
  readonly main: SharedStructure;
  readonly secondary: SharedStructure;
  /** Moves to the current window, and returns the monotonic time. */
  rotate(): number;
}

/** Undefined: the structure has rotated away, or does not exist yet. */
export function structureOf(view: SharedView, seed: number): SharedStructure | undefined {
  if (view.main.seed === seed) return view.main;
  return view.secondary.seed === seed ? view.secondary : undefined;
}

export function structuresOf(view: SharedView): readonly SharedStructure[] {
  return [view.main, view.secondary];
}

/** The cell of a row and column that came over the wire; -1 for one that the structure does not have. */
export function cellAt(view: SharedView, row: number, column: number): number {
  const isRow = Number.isInteger(row) && row >= 0 && row < view.levels;
  const isColumn = Number.isInteger(column) && column >= 0 && column < view.columns;
  return isRow && isColumn ? row * view.columns + column : -1;
}

export function hasUnsent({ main, secondary }: SharedView): boolean {
  return main.pending.unsent.count + secondary.pending.unsent.count > 0;
}

export function hasPending(view: SharedView): boolean {
  const inFlightCount = view.main.pending.inFlight.count + view.secondary.pending.inFlight.count;
  return inFlightCount > 0 || hasUnsent(view);
}

/** Cells with outcomes that are not acknowledged, sent or not. */
export function countPending({ main, secondary }: SharedView): number {
  return main.pending.countCells() + secondary.pending.countCells();
}
