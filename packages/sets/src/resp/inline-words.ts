// Splits an inline command into words, as typed into telnet: blanks separate words, double quotes accept `\n`, `\r`,
// `\t`, `\b`, `\a`, `\xHH` and any other escaped byte, single quotes only `\'`. The rules, including the odd ones,
// are those of Redis: a quote may open within a word, and must be followed by a blank.
import type { ByteList } from '../byte-list.js';

const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const BACKSLASH = 0x5c;
const LETTER_X = 0x78;

const escapes: ReadonlyMap<number, number> = new Map([
  [0x6e, 0x0a], // \n
  [0x72, 0x0d], // \r
  [0x74, 0x09], // \t
  [0x62, 0x08], // \b
  [0x61, 0x07], // \a
]);

/**
 * Fills `words` with copies of the words in `line`. False: a quote is not closed, or is followed by something other
 * than a blank.
 */
export function splitInline(line: Uint8Array, words: ByteList): boolean {
  const splitter = new InlineSplitter(line);
  words.reset(splitter.bytes);
  for (;;) {
    const start = splitter.length;
    const found = splitter.nextWord();
    if (found !== 'word') return found === 'end';
    words.push(start, splitter.length);
  }
}

class InlineSplitter {
  /** The words one after another; no word is longer than its source text. */
  readonly bytes: Uint8Array;
  length = 0;
  readonly #line: Uint8Array;
  #at = 0;

  constructor(line: Uint8Array) {
    this.#line = line;
    this.bytes = new Uint8Array(line.length);
  }

  nextWord(): 'word' | 'end' | 'unbalanced' {
    while (isSpace(this.#peek())) this.#at += 1;
    if (this.#at === this.#line.length) return 'end';
    for (;;) {
      const byte = this.#peek();
      if (byte === undefined || isWordEnd(byte)) return 'word';
      this.#at += 1;
      if (byte !== QUOTE && byte !== APOSTROPHE) {
        this.#put(byte);
        continue;
      }
      const isClosed = this.#readQuoted(byte);
      const next = this.#peek();
      return isClosed && (next === undefined || isSpace(next)) ? 'word' : 'unbalanced';
    }
  }

  #readQuoted(quote: number): boolean {
    for (;;) {
      const byte = this.#peek();
      if (byte === undefined) return false;
      this.#at += 1;
      if (byte === quote) return true;
      const next = this.#peek();
      const isEscape = quote === QUOTE ? next !== undefined : next === APOSTROPHE;
      if (byte === BACKSLASH && next !== undefined && isEscape) this.#readEscape(next);
      else this.#put(byte);
    }
  }

  #readEscape(escaped: number): void {
    const high = hexDigit(this.#line[this.#at + 1]);
    const low = hexDigit(this.#line[this.#at + 2]);
    const isHex = escaped === LETTER_X && high >= 0 && low >= 0;
    this.#put(isHex ? high * 16 + low : (escapes.get(escaped) ?? escaped));
    this.#at += isHex ? 3 : 1;
  }

  #peek(): number | undefined {
    return this.#line[this.#at];
  }

  #put(byte: number): void {
    this.bytes[this.length] = byte;
    this.length += 1;
  }
}

/** What separates words: blank, tab, line feed, vertical tab, form feed, carriage return. */
function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || (byte !== undefined && byte >= 0x09 && byte <= 0x0d);
}

/** Vertical tab and form feed may precede a word, but do not end one. */
function isWordEnd(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** A browser that was tricked into connecting here on behalf of its user sends HTTP. */
export function isHttp(args: ByteList): boolean {
  const size = args.sizeOf(0);
  if (size !== 4 && size !== 5) return false;
  const word = args.text(0).toLowerCase();
  return word === 'post' || word === 'host:';
}
