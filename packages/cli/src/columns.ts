// Text in columns that line up, two blanks apart.

/** Rows of cells as lines. A missing cell is empty; blanks at the end of a line are cut. */
export function renderColumns(rows: readonly (readonly string[])[], indent = ''): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, visible(cell));
  }
  const padded = (cell: string, at: number) => cell + ' '.repeat((widths[at] ?? 0) - visible(cell));
  const lines = rows.map((row) => [...row.slice(0, -1).map(padded), row.at(-1) ?? ''].join('  '));
  return lines.map((line) => `${indent}${line.trimEnd()}\n`).join('');
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours start with ESC and have no width.
const COLORS = /\u001b\[\d+m/g;

function visible(cell: string): number {
  return cell.replace(COLORS, '').length;
}
