// Which cells have changed since they were last written to disk: marks, no values. What is written is
// the value at that time, so a cell that changes a thousand times in a second is written once, and a disk
// that takes nothing for an hour costs one mark per cell.
import type { Cells } from '../cells.js';

export class DirtyCells {
  /** Columns by row. Both may be any integer in the default namespace. */
  readonly #rows = new Map<number, Set<number>>();

  mark({ count, rows, columns }: Cells): void {
    for (let at = 0; at < count; at += 1) this.add(rows[at] ?? 0, columns[at] ?? 0);
  }

  add(row: number, column: number): void {
    const columns = this.#rows.get(row);
    if (columns === undefined) this.#rows.set(row, new Set([column]));
    else columns.add(column);
  }

  /** Removes the mark; false if there was none. */
  take(row: number, column: number): boolean {
    return this.#rows.get(row)?.delete(column) ?? false;
  }

  *places(): Generator<CellPlace> {
    for (const [row, columns] of this.#rows) for (const column of columns) yield { row, column };
  }
}

export interface CellPlace {
  readonly row: number;
  readonly column: number;
}
