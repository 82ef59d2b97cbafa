// Text in aligned columns, two spaces apart.
import { displayWidth, padEnd } from './display-width.js';

/** Rows of cells as lines. A missing cell is empty; blanks at the end of a line are cut. */
export function renderColumns(rows: readonly (readonly string[])[], indent = ''): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries())
      widths[at] = Math.max(widths[at] ?? 0, displayWidth(cell));
  }
  const padded = (cell: string, at: number) => padEnd(cell, widths[at] ?? 0);
  const lines = rows.map((row) => [...row.slice(0, -1).map(padded), row.at(-1) ?? ''].join('  '));
  return lines.map((line) => `${indent}${line.trimEnd()}\n`).join('');
}
