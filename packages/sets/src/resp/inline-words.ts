// Cuts an inline command into words, as one types it into telnet: blanks part words, double quotes take
// `\n`, `\r`, `\t`, `\b`, `\a`, `\xHH` and any other escaped byte, single quotes only `\'`. The rules, also
// the odd ones, are those of Redis: a quote may open within a word, and must be followed by a blank.
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

/** Fills `words` with copies of the words in `line`. False: a quote is not closed, or goes on behind its end. */
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
  /** The words behind each other; no word is longer than what stands for it. */
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
      const isClosed = byte === QUOTE ? this.#readQuoted() : this.#readSingleQuoted();
      const next = this.#peek();
      return isClosed && (next === undefined || isSpace(next)) ? 'word' : 'unbalanced';
    }
  }

  #readQuoted(): boolean {
    for (;;) {
      const byte = this.#peek();
      if (byte === undefined) return false;
      this.#at += 1;
      if (byte === QUOTE) return true;
      const escaped = this.#peek();
      if (byte === BACKSLASH && escaped !== undefined) this.#readEscape(escaped);
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

  #readSingleQuoted(): boolean {
    for (;;) {
      const byte = this.#peek();
      if (byte === undefined) return false;
      this.#at += 1;
      if (byte === APOSTROPHE) return true;
      const isEscaped = byte === BACKSLASH && this.#peek() === APOSTROPHE;
      if (isEscaped) this.#at += 1;
      this.#put(isEscaped ? APOSTROPHE : byte);
    }
  }

  #peek(): number | undefined {
    return this.#line[this.#at];
  }

  #put(byte: number): void {
    this.bytes[this.length] = byte;
    this.length += 1;
  }
}

/** What parts words: blank, tab, line feed, vertical tab, form feed, carriage return. */
function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || (byte !== undefined && byte >= 0x09 && byte <= 0x0d);
}

/** Vertical tab and form feed stand before a word, but do not end one. */
function isWordEnd(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
