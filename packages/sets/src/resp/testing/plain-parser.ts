// A second parser, as simple as possible: all bytes are available, and commands are taken off their front.
//
// It shares nothing with the fast one but the limits, so that a mistake in either shows as a difference.
import type { CommandParserOptions } from '../command-parser.js';
import type { ProtocolFailureKind } from '../protocol-failure.js';

/** One character per byte everywhere. */
export interface PlainResult {
  readonly commands: readonly (readonly string[])[];
  readonly failure: ProtocolFailureKind | undefined;
  /** The last bytes are the beginning of a command. */
  readonly isMidCommand: boolean;
}

type Front =
  | { readonly kind: 'words'; readonly words: readonly string[]; readonly rest: string }
  | { readonly kind: 'more' }
  | { readonly kind: 'failure'; readonly failure: ProtocolFailureKind };

export interface PlainOptions extends CommandParserOptions {
  readonly isUnauthenticated: boolean;
}

const more: Front = { kind: 'more' };

export function parsePlainly(text: string, options: PlainOptions): PlainResult {
  const commands: (readonly string[])[] = [];
  if (text.startsWith('\x16')) return { commands, failure: 'tls-greeting', isMidCommand: false };
  let rest = text;
  while (rest !== '') {
    const front = rest.startsWith('*') ? takeArray(rest, options) : takeInline(rest, options);
    if (front.kind === 'failure') return { commands, failure: front.failure, isMidCommand: false };
    if (front.kind === 'more') return { commands, failure: undefined, isMidCommand: true };
    if (front.words.length > 0) commands.push(front.words);
    rest = front.rest;
  }
  return { commands, failure: undefined, isMidCommand: false };
}

function takeArray(text: string, options: PlainOptions): Front {
  const count = takeNumber(text, options.lineBytesMax);
  if (count === 'more') return more;
  if (count === 'long') return failure('count-line-too-long');
  if (!(count.value <= options.argumentsMax)) return failure('multibulk-length');
  if (options.isUnauthenticated && count.value > options.unauthenticatedArgumentsMax) {
    return failure('unauthenticated-arguments');
  }
  const words: string[] = [];
  let rest = count.rest;
  while (words.length < count.value) {
    const word = takeBulk(rest, text.length - rest.length, options);
    if (word.kind !== 'words') return word;
    words.push(...word.words);
    rest = word.rest;
  }
  return { kind: 'words', words, rest };
}

/** One word; `before` is the number of bytes of the command before it. */
function takeBulk(text: string, before: number, options: PlainOptions): Front {
  if (text === '') return more;
  if (!text.startsWith('$')) return failure('expected-bulk');
  const size = takeNumber(text, options.lineBytesMax);
  if (size === 'more') return more;
  if (size === 'long') return failure('bulk-line-too-long');
  const { value, rest } = size;
  if (!(value >= 0 && value <= options.bulkBytesMax)) return failure('bulk-length');
  const commandBytes = before + (text.length - rest.length) + value + 2;
  if (commandBytes > options.commandBytesMax) return failure('bulk-length');
  if (options.isUnauthenticated && value > options.unauthenticatedBulkBytesMax)
    return failure('unauthenticated-bulk');
  if (rest.length < value + 2) return more;
  if (rest.slice(value, value + 2) !== '\r\n') return failure('bulk-end');
  return { kind: 'words', words: [rest.slice(0, value)], rest: rest.slice(value + 2) };
}

/** The number after the first byte, NaN if there is none, and what follows its line. */
function takeNumber(
  text: string,
  lineBytesMax: number,
): { readonly value: number; readonly rest: string } | 'more' | 'long' {
  const end = text.indexOf('\r');
  if (end > lineBytesMax || (end === -1 && text.length > lineBytesMax)) return 'long';
  if (end === -1 || end + 1 === text.length) return 'more';
  const digits = text.slice(1, end);
  const isNumber = /^(0|-?[1-9][0-9]{0,17})$/.test(digits) && text[end + 1] === '\n';
  return { value: isNumber ? Number(digits) : Number.NaN, rest: text.slice(end + 2) };
}

function takeInline(text: string, options: PlainOptions): Front {
  const end = text.indexOf('\n');
  if (end > options.lineBytesMax || (end === -1 && text.length > options.lineBytesMax)) {
    return failure('inline-too-long');
  }
  if (end === -1) return more;
  const words = inlineWords(text.slice(0, end));
  if (words === undefined) return failure('unbalanced-quotes');
  if (/^(post|host:)$/i.test(words[0] ?? '')) return failure('http-request');
  return { kind: 'words', words, rest: text.slice(end + 1) };
}

/** An unquoted beginning, then maybe one quoted part, which ends the word. */
const inlineWord =
  /([^ \t\r\n"']*)(?:"((?:\\.|[^"\\])*)"(?=[ \t-\r]|$)|'((?:\\'|\\(?!')|[^'\\])*)'(?=[ \t-\r]|$))?/sy;

function inlineWords(line: string): string[] | undefined {
  const words: string[] = [];
  let at = 0;
  for (;;) {
    while (/[ \t-\r]/.test(line.charAt(at))) at += 1;
    if (at === line.length) return words;
    inlineWord.lastIndex = at;
    const [whole = '', bare = '', double = '', single = ''] = inlineWord.exec(line) ?? [];
    at += whole.length;
    const next = line.charAt(at);
    const isQuoted = whole.length > bare.length;
    if (!isQuoted && (next === '"' || next === "'")) return undefined;
    words.push(bare + unescapeDouble(double) + single.replaceAll("\\'", "'"));
  }
}

function unescapeDouble(text: string): string {
  return text.replaceAll(
    /\\(?:x([0-9a-fA-F]{2})|(.))/gs,
    (_all, hex: string | undefined, other: string) => {
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      const index = 'nrtba'.indexOf(other);
      return index === -1 ? other : '\n\r\t\b\x07'.charAt(index);
    },
  );
}

function failure(kind: ProtocolFailureKind): Front {
  return { kind: 'failure', failure: kind };
}
