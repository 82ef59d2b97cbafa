// Fits text into a terminal. A line that is too long would wrap and shift everything below it; with too many
// lines, the first ones would scroll out of view.
import type { OutputStream } from './cli-world.js';
import { displayWidth } from './display-width.js';

export interface Screen {
  readonly columns: number;
  readonly rows: number;
}

/** For output to a file or a pipe, which is never truncated. */
export const boundlessScreen: Screen = {
  columns: Number.POSITIVE_INFINITY,
  rows: Number.POSITIVE_INFINITY,
};

/** Called for each redraw, since windows are resized. A terminal of unknown size (0 or undefined) counts as 80 × 24. */
export function screenOf({ isTTY, columns = 0, rows = 0 }: OutputStream): Screen {
  if (isTTY !== true) return boundlessScreen;
  return { columns: columns > 0 ? columns : 80, rows: rows > 0 ? rows : 24 };
}

/** If there are too many lines, the last one shown says how many are missing. */
export function cutLines(lines: readonly string[], rows: number): readonly string[] {
  if (lines.length <= rows) return lines;
  const shown = Math.max(0, rows - 1);
  return [...lines.slice(0, shown), `  … ${lines.length - shown} more`].slice(0, Math.max(0, rows));
}

/** Wraps plain text between words. A word longer than a line is not split. */
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
