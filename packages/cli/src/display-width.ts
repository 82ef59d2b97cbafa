// How many cells of a terminal a text takes, padding and truncation by that width. Colors take none.
//
// Truncation is done here: cli-truncate exceeds the width by one cell where a wide character is cut, and takes
// milliseconds per line, while a table is drawn ten times a second.
import stringWidth from 'string-width';

// biome-ignore lint/suspicious/noControlCharactersInRegex: colors start with ESC.
const COLOR_PARTS = /(\u001b\[\d+m)/;

export const displayWidth: (text: string) => number = stringWidth;

/** Spaces behind it, up to the width. */
export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}

/** Spaces before it, up to the width. */
export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - displayWidth(text))) + text;
}

/** The text, or the part that fits and an ellipsis. Color codes after the cut are kept, so that colors end. */
export function cutToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  if (width <= 0) return '';
  const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });
  let room = width - 1;
  let cut = '';
  for (const [at, part] of text.split(COLOR_PARTS).entries()) {
    const isColor = at % 2 === 1;
    if (isColor) cut += part;
    if (isColor || room < 0) continue;
    for (const { segment } of segmenter.segment(part)) {
      room -= displayWidth(segment);
      if (room >= 0) cut += segment;
      else break;
    }
    if (room < 0) cut += '…';
  }
  return cut;
}
