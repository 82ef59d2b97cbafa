// Computes how many terminal cells a text occupies. Emoji and East Asian characters take two, combining marks and
// color codes none. Other control characters are not expected.
//
// Terminals differ on emoji sequences that are drawn as one; like terminals that follow Unicode, we count two cells
// for the whole sequence. Most text is plain and is counted without segmenting it, because segmenting takes
// microseconds per character and a table is drawn ten times a second.

// biome-ignore lint/suspicious/noControlCharactersInRegex: color codes start with ESC.
const COLOR = /\u001b\[\d+m/g;
/** Splits into alternating texts and color codes. */
const COLOR_PARTS = new RegExp(`(${COLOR.source})`);
/** Characters with one code unit and one cell: Latin, punctuation, lines and blocks, circles. */
const PLAIN =
  '\\u0020-\\u007e\\u00a1-\\u00ac\\u00ae-\\u02ff\\u2010-\\u2027\\u2500-\\u259f\\u25cb-\\u25cf';
/**
 * Splits into alternating non-plain and plain parts. A combining mark may follow a plain character, so the last
 * plain character before a non-plain part belongs to that part.
 */
const PLAIN_PARTS = new RegExp(`([${PLAIN}]+(?=[${PLAIN}]|$))`);
const EMOJI = /\p{Emoji_Presentation}|\p{Emoji}\ufe0f/u;
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** Ranges of code points that Unicode's EastAsianWidth calls wide or fullwidth, without emoji. */
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
  let width = 0;
  for (const [at, part] of text.replace(COLOR, '').split(PLAIN_PARTS).entries()) {
    if (at % 2 === 1) width += part.length;
    else for (const grapheme of graphemesOf(part)) width += widthOfGrapheme(grapheme);
  }
  return width;
}

/** Adds spaces at the end, up to the width. */
export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}

/** Adds spaces at the start, up to the width. */
export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - displayWidth(text))) + text;
}

/** Truncates text that does not fit, with an ellipsis. Color codes after that point are kept, so that colors are reset. */
export function cutToWidth(text: string, width: number): string {
  const room = new Room(width);
  let position = 0;
  for (const [at, piece] of text.split(COLOR_PARTS).entries()) {
    if (at % 2 === 1) room.addColor(piece);
    else if (!room.add(piece)) {
      const colors = text.slice(position).match(COLOR) ?? [];
      return room.cut() + colors.join('');
    }
    position += piece.length;
  }
  return text;
}

/** Collects text up to a width, and remembers how much of it fits together with an ellipsis. */
class Room {
  readonly #width: number;
  #used = 0;
  #taken = '';
  #beforeEllipsis = '';

  constructor(width: number) {
    this.#width = width;
  }

  /** Returns false if the text does not fit. */
  add(text: string): boolean {
    for (const [at, part] of text.split(PLAIN_PARTS).entries()) {
      const hasRoom = at % 2 === 1 ? this.#addPlain(part) : this.#addOthers(part);
      if (!hasRoom) return false;
    }
    return true;
  }

  addColor(color: string): void {
    this.#take(color, 0);
  }

  cut(): string {
    return this.#width > 0 ? `${this.#beforeEllipsis}…` : '';
  }

  #addPlain(text: string): boolean {
    const left = Math.max(0, this.#width - 1 - this.#used);
    if (left > 0) this.#take(text.slice(0, left), Math.min(left, text.length));
    const rest = text.slice(left);
    this.#take(rest, rest.length);
    return this.#used <= this.#width;
  }

  #addOthers(text: string): boolean {
    for (const grapheme of graphemesOf(text)) {
      this.#take(grapheme, widthOfGrapheme(grapheme));
      if (this.#used > this.#width) return false;
    }
    return true;
  }

  #take(text: string, width: number): void {
    this.#used += width;
    this.#taken += text;
    if (this.#used < this.#width) this.#beforeEllipsis = this.#taken;
  }
}

/** Skips the segmenter for empty text, since even that takes time. */
function* graphemesOf(text: string): Generator<string> {
  if (text === '') return;
  for (const { segment } of segmenter.segment(text)) yield segment;
}

function widthOfGrapheme(grapheme: string): number {
  if (EMOJI.test(grapheme)) return 2;
  if (NO_WIDTH.test(grapheme)) return 0;
  const point = grapheme.codePointAt(0) ?? 0;
  return WIDE.some(([first, last]) => point >= first && point <= last) ? 2 : 1;
}
