// Formats text in aligned columns, two spaces apart.
import { displayWidth, padEnd } from './display-width.js';

/** Missing cells are empty, and trailing spaces are removed. */
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
