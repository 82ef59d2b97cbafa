// Text that fits into a terminal. A line that is too long would wrap and shift all below it; a line too many
// would scroll the first ones away.
import type { OutputStream } from '../cli-world.js';

export interface Screen {
  readonly columns: number;
  readonly rows: number;
}

/** Of output that goes into a file or a pipe: nothing is cut. */
export const boundlessScreen: Screen = {
  columns: Number.POSITIVE_INFINITY,
  rows: Number.POSITIVE_INFINITY,
};

/** Asked anew for each drawing, since windows change. A terminal of unknown size (0 or none) is a small one. */
export function screenOf({ isTTY, columns = 0, rows = 0 }: OutputStream): Screen {
  if (isTTY !== true) return boundlessScreen;
  return { columns: columns > 0 ? columns : 80, rows: rows > 0 ? rows : 24 };
}

/** The line, or what fits of it and an ellipsis. Colours have no width, and all that follow stay. */
export function cutLine(line: string, columns: number): string {
  const parts = line.match(COLOR_OR_CHARACTER) ?? [];
  const width = parts.filter((part) => !isColor(part)).length;
  if (width <= columns) return line;
  let at = 0;
  const kept = parts.map((part) => {
    if (isColor(part)) return part;
    at += 1;
    if (at < columns) return part;
    return at === columns ? '…' : '';
  });
  return kept.join('');
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
    if (last !== undefined && last.length + 1 + word.length <= columns)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours start with ESC.
const COLOR_OR_CHARACTER = /\u001b\[\d+m|./gsu;

function isColor(part: string): boolean {
  return part.length > 2 && part.startsWith('\u001b');
}
