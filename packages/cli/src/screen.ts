// Text that fits into a terminal. A line that is too long would wrap and shift everything below it; one line
// too many would scroll the first ones away.
import type { OutputStream } from './cli-world.js';
import { displayWidth } from './display-width.js';

export interface Screen {
  readonly columns: number;
  readonly rows: number;
}

/** Of output that goes into a file or a pipe: nothing is cut. */
export const boundlessScreen: Screen = {
  columns: Number.POSITIVE_INFINITY,
  rows: Number.POSITIVE_INFINITY,
};

/** Evaluated for each drawing, since windows change. A terminal of unknown size (0 or none) is a small one. */
export function screenOf({ isTTY, columns = 0, rows = 0 }: OutputStream): Screen {
  if (isTTY !== true) return boundlessScreen;
  return { columns: columns > 0 ? columns : 80, rows: rows > 0 ? rows : 24 };
}

/** The lines, or the first of them and a last one that counts the others. */
export function cutLines(lines: readonly string[], rows: number): readonly string[] {
  if (lines.length <= rows) return lines;
  const shown = Math.max(0, rows - 1);
  return [...lines.slice(0, shown), `  … ${lines.length - shown} more`].slice(0, Math.max(0, rows));
}

/** Plain text in lines that break between words. A word longer than a line stays whole. */
export function wrapWords(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && displayWidth(last) + 1 + displayWidth(word) <= columns)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
