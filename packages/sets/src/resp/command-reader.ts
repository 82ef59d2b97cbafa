// Reads one command from bytes that may end anywhere, and goes on where it stopped when there are more.
//
//   start ── `*n` ──▶ header ── `$b` ──▶ body ── b bytes, line end ──▶ header … ──▶ command
//     └── any other byte: an inline command, up to its line feed
//
// A line of a length ends at a carriage return, and the line feed must follow. Empty commands are skipped.
import type { ByteList } from '../byte-list.js';
import { splitInline } from './inline-words.js';
import {
  type ProtocolFailure,
  type ProtocolFailureKind,
  protocolFailure,
} from './protocol-failure.js';

export interface CommandParserOptions {
  readonly lineBytesMax: number;
  readonly argumentsMax: number;
  readonly bulkBytesMax: number;
  readonly commandBytesMax: number;
  readonly unauthenticatedArgumentsMax: number;
  readonly unauthenticatedBulkBytesMax: number;
}

const STAR = 0x2a;
const DOLLAR = 0x24;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;
const ZERO = 0x30;
const MINUS = 0x2d;
/** The first byte of a TLS connection. */
const TLS_HANDSHAKE = 0x16;

/** More digits are out of any range. */
const DIGITS_MAX = 18;
const MORE = -1;
const TOO_LONG = -2;
const HEADER = -1;

export class CommandReader {
  isUnauthenticated = false;
  failure: ProtocolFailure | undefined;
  /** Where reading goes on. */
  position = 0;
  /** Where the command begins that is being read. */
  commandStart = 0;
  readonly #args: ByteList;
  readonly #options: CommandParserOptions;
  readonly #shortBytesMax: number;
  readonly #shortCountMax: number;
  /** Words that are still to come; 0 at the start of a command. */
  #wordsLeft = 0;
  /** Bytes of the word that comes next; HEADER before its length is known. */
  #bulkBytes = HEADER;
  /** Up to here the line that is being read has no end. A long line is thus looked at once, not once per chunk. */
  #scanned = 0;
  #isFirstByte = true;

  constructor(args: ByteList, options: CommandParserOptions) {
    this.#args = args;
    this.#options = options;
    this.#shortCountMax = Math.min(9, options.argumentsMax, options.unauthenticatedArgumentsMax);
    this.#shortBytesMax = Math.min(options.bulkBytesMax, options.unauthenticatedBulkBytesMax);
  }

  /** Begins a command at `position`. */
  start(buffer: Uint8Array, position: number): void {
    this.position = position;
    this.commandStart = position;
    this.#wordsLeft = 0;
    this.#bulkBytes = HEADER;
    this.#scanned = position;
    this.#args.reset(buffer);
  }

  /** `more`: the bytes end before the command does. Call it again with more of them behind the same ones. */
  read(buffer: Uint8Array, end: number): 'command' | 'more' | 'failed' {
    if (buffer !== this.#args.buffer) this.#args.moveTo(buffer);
    while (this.#wordsLeft === 0) {
      if (this.position === end) return 'more';
      const found = this.#readStart(buffer, end);
      if (found !== 'skipped') return found;
      this.commandStart = this.position;
    }
    return this.#readWords(buffer, end);
  }

  /** How many bytes are missing until the present bulk string is complete, its line end included. */
  bulkBytesMissing(end: number): number {
    return this.#bulkBytes === HEADER ? 0 : this.position + this.#bulkBytes + 2 - end;
  }

  /** The count of words, or a whole inline command. */
  #readStart(buffer: Uint8Array, end: number): 'command' | 'more' | 'failed' | 'skipped' {
    if (this.#isFirstByte) {
      this.#isFirstByte = false;
      if (buffer[this.position] === TLS_HANDSHAKE) return this.#fail('tls-greeting');
    }
    if (buffer[this.position] !== STAR) return this.#readInline(buffer, end);
    if (this.#readShortCount(buffer, end)) return this.#readWords(buffer, end);
    const lineEnd = this.#findLineEnd(buffer, end, CARRIAGE_RETURN);
    if (lineEnd === TOO_LONG) return this.#fail('count-line-too-long');
    if (lineEnd === MORE || lineEnd + 1 === end) return 'more';
    const count = numberIn(buffer, this.position + 1, lineEnd);
    const isOutOfRange = Number.isNaN(count) || count > this.#options.argumentsMax;
    if (isOutOfRange || buffer[lineEnd + 1] !== LINE_FEED) return this.#fail('multibulk-length');
    if (this.isUnauthenticated && count > this.#options.unauthenticatedArgumentsMax) {
      return this.#fail('unauthenticated-arguments');
    }
    this.#goOn(lineEnd + 2);
    if (count <= 0) return 'skipped';
    this.#wordsLeft = count;
    return this.#readWords(buffer, end);
  }

  /** A count of one digit, below every limit. */
  #readShortCount(buffer: Uint8Array, end: number): boolean {
    const position = this.position;
    if (position + 4 > end || buffer[position + 2] !== CARRIAGE_RETURN) return false;
    const count = (buffer[position + 1] as number) - ZERO;
    const isSmall = count >= 1 && count <= this.#shortCountMax;
    if (!isSmall || buffer[position + 3] !== LINE_FEED) return false;
    this.#wordsLeft = count;
    this.#goOn(position + 4);
    return true;
  }

  #readWords(buffer: Uint8Array, end: number): 'command' | 'more' | 'failed' {
    while (this.#wordsLeft > 0) {
      if (this.#bulkBytes === HEADER && !this.#readShortHeader(buffer, end)) {
        const found = this.#readHeader(buffer, end);
        if (found !== 'header') return found;
      }
      const start = this.position;
      const bulkEnd = start + this.#bulkBytes;
      if (bulkEnd + 2 > end) return 'more';
      if (buffer[bulkEnd] !== CARRIAGE_RETURN || buffer[bulkEnd + 1] !== LINE_FEED) {
        return this.#fail('bulk-end');
      }
      this.#args.push(start, bulkEnd);
      this.#bulkBytes = HEADER;
      this.#wordsLeft -= 1;
      this.#goOn(bulkEnd + 2);
    }
    return 'command';
  }

  /** Nearly all lengths have one or two digits and are below every limit; `#readHeader` takes the others. */
  #readShortHeader(buffer: Uint8Array, end: number): boolean {
    const position = this.position;
    if (position + 5 > end || buffer[position] !== DOLLAR) return false;
    let bytes = (buffer[position + 1] as number) - ZERO;
    if (bytes < 1 || bytes > 9) return false;
    let lineEnd = position + 2;
    if (buffer[lineEnd] !== CARRIAGE_RETURN) {
      const digit = (buffer[lineEnd] as number) - ZERO;
      if (digit < 0 || digit > 9) return false;
      bytes = bytes * 10 + digit;
      lineEnd += 1;
      if (buffer[lineEnd] !== CARRIAGE_RETURN) return false;
    }
    if (buffer[lineEnd + 1] !== LINE_FEED) return false;
    const isSmall = bytes <= this.#shortBytesMax;
    if (!isSmall || lineEnd + 4 + bytes - this.commandStart > this.#options.commandBytesMax)
      return false;
    this.#bulkBytes = bytes;
    this.#goOn(lineEnd + 2);
    return true;
  }

  #readHeader(buffer: Uint8Array, end: number): 'header' | 'more' | 'failed' {
    if (this.position === end) return 'more';
    const first = buffer[this.position] ?? 0;
    if (first !== DOLLAR) return this.#fail('expected-bulk', first);
    const lineEnd = this.#findLineEnd(buffer, end, CARRIAGE_RETURN);
    if (lineEnd === TOO_LONG) return this.#fail('bulk-line-too-long');
    if (lineEnd === MORE || lineEnd + 1 === end) return 'more';
    const bytes = numberIn(buffer, this.position + 1, lineEnd);
    const isInRange = bytes >= 0 && bytes <= this.#options.bulkBytesMax;
    if (!isInRange || buffer[lineEnd + 1] !== LINE_FEED) return this.#fail('bulk-length');
    const commandBytes = lineEnd + 2 + bytes + 2 - this.commandStart;
    if (commandBytes > this.#options.commandBytesMax) return this.#fail('bulk-length');
    if (this.isUnauthenticated && bytes > this.#options.unauthenticatedBulkBytesMax) {
      return this.#fail('unauthenticated-bulk');
    }
    this.#bulkBytes = bytes;
    this.#goOn(lineEnd + 2);
    return 'header';
  }

  #readInline(buffer: Uint8Array, end: number): 'command' | 'more' | 'failed' | 'skipped' {
    const lineEnd = this.#findLineEnd(buffer, end, LINE_FEED);
    if (lineEnd === TOO_LONG) return this.#fail('inline-too-long');
    if (lineEnd === MORE) return 'more';
    if (!splitInline(buffer.subarray(this.position, lineEnd), this.#args)) {
      return this.#fail('unbalanced-quotes');
    }
    this.#goOn(lineEnd + 1);
    if (this.#args.length === 0) {
      this.#args.reset(buffer);
      return 'skipped';
    }
    return isHttp(this.#args) ? this.#fail('http-request') : 'command';
  }

  /** The end of the line at `position`. */
  #findLineEnd(buffer: Uint8Array, end: number, endByte: number): number {
    const longest = this.position + this.#options.lineBytesMax;
    let at = this.#scanned;
    const stop = end <= longest ? end : longest + 1;
    while (at < stop && buffer[at] !== endByte) at += 1;
    if (at < stop) return at;
    this.#scanned = at;
    return at > longest ? TOO_LONG : MORE;
  }

  #goOn(position: number): void {
    this.position = position;
    this.#scanned = position;
  }

  #fail(kind: ProtocolFailureKind, found?: number): 'failed' {
    this.failure = protocolFailure(kind, found);
    return 'failed';
  }
}

/** A whole number as Redis writes it, without leading zeros or a plus; NaN for anything else. */
function numberIn(buffer: Uint8Array, start: number, end: number): number {
  const isNegative = buffer[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  const digits = end - first;
  if (digits === 1 && !isNegative && buffer[first] === ZERO) return 0;
  if (digits === 0 || digits > DIGITS_MAX || buffer[first] === ZERO) return Number.NaN;
  let value = 0;
  for (let at = first; at < end; at += 1) {
    const digit = (buffer[at] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  return isNegative ? -value : value;
}

/** A browser that was led here to speak for somebody else sends HTTP. */
function isHttp(args: ByteList): boolean {
  const size = args.sizeOf(0);
  if (size !== 4 && size !== 5) return false;
  const word = args.text(0).toLowerCase();
  return word === 'post' || word === 'host:';
}
