// How many cells of a terminal a text takes. Emoji and East Asian characters take two, marks that join the
// character before them take none. Colours take none either; other control characters are not expected.
//
// Terminals differ on sequences of emoji that are drawn as one. Those who follow Unicode give two cells to the
// whole, and so does this.

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours start with ESC.
const COLOR = /\u001b\[\d+m/g;
const PRINTABLE_ASCII = /^[\u0020-\u007e]*$/;
const EMOJI = /\p{Emoji_Presentation}|\p{Emoji}\ufe0f/u;
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** First and last code points of what Unicode's EastAsianWidth calls wide or fullwidth, emoji aside. */
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18cff],
  [0x1aff0, 0x1b2ff],
  [0x20000, 0x3fffd],
];

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

export function displayWidth(text: string): number {
  const plain = text.replace(COLOR, '');
  if (PRINTABLE_ASCII.test(plain)) return plain.length;
  let width = 0;
  for (const { segment } of segmenter.segment(plain)) width += widthOfGrapheme(segment);
  return width;
}

/** Spaces behind it, up to the width. */
export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}

/** Spaces before it, up to the width. */
export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - displayWidth(text))) + text;
}

/** The text, or what fits of it and an ellipsis. Colours that follow the cut stay, so that they end. */
export function cutToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let left = width - 1; // for the ellipsis
  let isCut = false;
  const pieces = text.split(new RegExp(`(${COLOR.source})`));
  const kept = pieces.map((piece, at) => {
    if (at % 2 === 1 || isCut) return at % 2 === 1 ? piece : '';
    let start = '';
    for (const { segment } of segmenter.segment(piece)) {
      left -= widthOfGrapheme(segment);
      isCut = left < 0;
      if (isCut) return width > 0 ? `${start}…` : '';
      start += segment;
    }
    return start;
  });
  return kept.join('');
}

function widthOfGrapheme(grapheme: string): number {
  if (EMOJI.test(grapheme)) return 2;
  if (NO_WIDTH.test(grapheme)) return 0;
  const point = grapheme.codePointAt(0) ?? 0;
  return WIDE.some(([first, last]) => point >= first && point <= last) ? 2 : 1;
}
