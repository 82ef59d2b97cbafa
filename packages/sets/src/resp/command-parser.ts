// From bytes to commands, however the bytes were split.
//
//   chunk ──▶ complete commands are read in place
//        └──▶ a command that continues in the next chunk is gathered: exactly its own bytes are copied
//
//   start ── `*n` ──▶ length ── `$b` ──▶ word ── b bytes, line end ──▶ length … ──▶ command
//     └── any other byte: an inline command, up to its line feed
//
// The result depends on the bytes alone: each step is taken as soon as its bytes have arrived, and none looks
// further. Memory grows with what has arrived, never with a length that was declared.
//
// S14  Commands and errors do not depend on the chunks; nothing is read after an error.
import { ByteList, GatheredBytes } from '../byte-list.js';
import { setsLimits } from '../limits.js';
import { AHEAD_MAX } from '../memory/order-hash.js';
import { isHttp, splitInline } from './inline-words.js';
import {
  type ProtocolFailure,
  type ProtocolFailureKind,
  protocolFailure,
} from './protocol-failure.js';

const parserLimits = {
  lineBytesMax: setsLimits.lineBytesMax.value,
  argumentsMax: setsLimits.argumentsMax.value,
  bulkBytesMax: setsLimits.bulkBytesMax.value,
  commandBytesMax: setsLimits.commandBytesMax.value,
  unauthenticatedArgumentsMax: setsLimits.unauthenticatedArgumentsMax.value,
  unauthenticatedBulkBytesMax: setsLimits.unauthenticatedBulkBytesMax.value,
};

export type CommandParserOptions = Readonly<Record<keyof typeof parserLimits, number>>;

type Found = 'command' | 'more' | 'failed';

const NO_BYTES = new Uint8Array(0);
const STAR = 0x2a;
const DOLLAR = 0x24;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;
const ZERO = 0x30;
const MINUS = 0x2d;
const TLS_HANDSHAKE = 0x16;

/** More digits are out of range in any case. */
const DIGITS_MAX = 18;
/** Digits in the length of the last word of commands read ahead: so it is never a set name that is too long. */
const AHEAD_DIGITS_MAX = 3;

// Instead of a length.
const NEGATIVE = -1;
const MORE = -2;
const TOO_LONG = -3;
const INVALID = -4;
/** The length of the next word is not read yet. */
const UNKNOWN = -1;

export class CommandParser {
  /** The words of the command that `next` found. They stay until it is called again. */
  readonly args = new ByteList(NO_BYTES);
  /** The last words of this command and of those after it that equal it in all other words; empty if there are none. */
  readonly ahead = new ByteList(NO_BYTES);
  /** How many of them `next` has found. */
  #aheadRead = 0;
  /** Set while the client has not authenticated: less is accepted from it. */
  isUnauthenticated = false;
  readonly #options: CommandParserOptions;
  readonly #gathered = new GatheredBytes();
  /** After `failed`. */
  failure: ProtocolFailure | undefined;
  #chunk: Uint8Array = NO_BYTES;
  #isBorrowed = false;
  /** The chunk was read or gathered up to here. */
  #chunkRead = 0;
  #isGathering = false;

  // The command that is being read, in the chunk or in the gathered bytes.
  #start = 0;
  #position = 0;
  /** Words that are still to come; 0 at the start of a command. */
  #wordsLeft = 0;
  /** Bytes of the next word, or UNKNOWN. */
  #wordBytes = UNKNOWN;
  /** Where the line that was read last ends. */
  #lineEnd = 0;
  /** The line being read has no end up to here. A long line is thus scanned once, not once per chunk. */
  #scanned = 0;
  #isFirstByte = true;

  constructor(options: CommandParserOptions = parserLimits) {
    this.#options = options;
  }

  /** The command that `next` found equals the previous one in all words but the last. */
  get isRepeated(): boolean {
    return this.#aheadRead > 1;
  }

  get commandBytes(): number {
    return this.#position - this.#start;
  }

  /** The first bytes of a command have arrived, but not all of it. */
  get isMidCommand(): boolean {
    return this.#isGathering;
  }

  /** Memory of a command that arrives in pieces. */
  get gatheredBytes(): number {
    return this.#gathered.buffer.length;
  }

  /** The whole chunk was read: another one may come. */
  get isChunkRead(): boolean {
    return this.#chunkRead === this.#chunk.length;
  }

  /** Only when the previous chunk has been read. `isBorrowed`: call `keepRest` before its bytes change. */
  feed(chunk: Uint8Array, isBorrowed = false): void {
    this.#chunk = chunk;
    this.#chunkRead = 0;
    this.#isBorrowed = isBorrowed;
    this.ahead.reset(chunk, isBorrowed);
    this.#aheadRead = 0;
  }

  keepRest(): void {
    if (!this.#isBorrowed) return;
    this.feed(new Uint8Array(this.#chunk.subarray(this.#chunkRead)));
  }

  /** `more`: no complete command is left in the chunk. `failed`: see `failure`; nothing more is read. */
  next(): Found {
    if (this.#aheadRead < this.ahead.length && this.#readRepeated()) return 'command';
    this.ahead.length = 0;
    this.#aheadRead = 0;
    if (this.failure !== undefined) return 'failed';
    if (this.#isGathering) return this.#gather();
    this.#gathered.clear(); // the command in it is over
    const chunk = this.#chunk;
    this.#begin(chunk, this.#chunkRead);
    const found = this.#read(chunk, chunk.length);
    this.#chunkRead = found === 'more' ? chunk.length : this.#position;
    if (found === 'command') this.#lookAhead(chunk);
    else if (found === 'more' && this.#start < chunk.length) this.#startGathering();
    return found;
  }

  /** The next of `ahead`: all its other words equal those in the list. False: it must be read normally. */
  #readRepeated(): boolean {
    const { args, ahead } = this;
    if (args.buffer !== this.#chunk) return false; // they were copied, and may have changed since
    const index = this.#aheadRead;
    const end = ahead.end(index);
    args.replaceLast(ahead.start(index), end);
    this.#start = this.#position;
    this.#moveTo(end + 2);
    this.#chunkRead = end + 2;
    this.#aheadRead = index + 1;
    return true;
  }

  /** Finds the commands after this one that differ from it in the last word only. Most pipelines look like that. */
  #lookAhead(chunk: Uint8Array): void {
    const { args, ahead } = this;
    const start = this.#start;
    const { bulkBytesMax, commandBytesMax, unauthenticatedBulkBytesMax } = this.#options;
    const bytesMax = this.isUnauthenticated ? unauthenticatedBulkBytesMax : bulkBytesMax;
    if (args.length < 2 || args.buffer !== chunk) return; // words of an inline command are in another buffer
    let headEnd = args.start(args.length - 1) - 1; // the word itself may begin with a dollar sign
    while (chunk[headEnd] !== DOLLAR) headEnd -= 1;
    const headBytes = headEnd - start + 1;
    let at = this.#position;
    while (ahead.length < AHEAD_MAX && at + headBytes < chunk.length) {
      if (!isRepeated(args.view, start, at, headBytes)) return;
      const digits = at + headBytes;
      const endMax = at + commandBytesMax - 2;
      at = digits;
      let bytes = 0;
      for (; at - digits < AHEAD_DIGITS_MAX; at += 1) {
        const digit = (chunk[at] as number) - ZERO;
        if (!(digit >= 0 && digit <= 9)) break;
        bytes = bytes * 10 + digit;
      }
      const isNumber = at > digits && (chunk[digits] !== ZERO || at === digits + 1);
      const wordStart = at + 2;
      const wordEnd = wordStart + bytes;
      if (!isNumber || bytes > bytesMax || wordEnd > endMax) return; // an error, which is found when its turn comes
      if (!isLineEnd(chunk, at) || !isLineEnd(chunk, wordEnd)) return;
      if (this.#aheadRead === 0) {
        ahead.push(args.start(args.length - 1), args.end(args.length - 1));
        this.#aheadRead = 1;
      }
      ahead.push(wordStart, wordEnd);
      at = wordEnd + 2;
    }
  }

  /** Starts again with a copy, since the rest of the command is appended to these bytes. */
  #startGathering(): void {
    const gathered = this.#gathered;
    this.#isGathering = true;
    gathered.append(this.#chunk, this.#start, this.#chunk.length);
    this.#begin(gathered.buffer, 0);
    this.#read(gathered.buffer, gathered.length);
  }

  #gather(): Found {
    const gathered = this.#gathered;
    while (this.#chunkRead < this.#chunk.length) {
      const end = this.#endOfWanted();
      gathered.append(this.#chunk, this.#chunkRead, end);
      this.#chunkRead = end;
      const found = this.#read(gathered.buffer, gathered.length);
      if (found === 'more' && this.#start < gathered.length) continue;
      this.#isGathering = false;
      return found === 'more' ? this.next() : found; // empty commands were skipped
    }
    return 'more';
  }

  /** Up to where the chunk certainly belongs to this command: the rest of a bulk string, or of a line. */
  #endOfWanted(): number {
    if (this.#wordBytes !== UNKNOWN) {
      const missing = this.#position + this.#wordBytes + 2 - this.#gathered.length;
      return Math.min(this.#chunk.length, this.#chunkRead + missing);
    }
    const lineEnd = this.#chunk.indexOf(LINE_FEED, this.#chunkRead);
    return lineEnd === -1 ? this.#chunk.length : lineEnd + 1;
  }

  // One command, from bytes that may end anywhere.

  #begin(buffer: Uint8Array, position: number): void {
    this.#start = position;
    this.#wordsLeft = 0;
    this.#wordBytes = UNKNOWN;
    this.#moveTo(position);
    this.args.reset(buffer, this.#isBorrowed && !this.#isGathering);
  }

  /** `more`: the bytes end before the command does. Call it again with more bytes appended. */
  #read(buffer: Uint8Array, end: number): Found {
    if (buffer !== this.args.buffer) this.args.moveTo(buffer);
    while (this.#wordsLeft === 0) {
      if (this.#position === end) return 'more';
      const found = this.#readStart(buffer, end);
      if (found !== 'skipped') return found;
      this.#start = this.#position;
    }
    return this.#readWords(buffer, end);
  }

  /** The count of words, or a whole inline command. Empty commands are skipped. */
  #readStart(buffer: Uint8Array, end: number): Found | 'skipped' {
    if (this.#isFirstByte) {
      this.#isFirstByte = false;
      if (buffer[this.#position] === TLS_HANDSHAKE) return this.#fail('tls-greeting');
    }
    if (buffer[this.#position] !== STAR) return this.#readInline(buffer, end);
    const count = this.#readLength(buffer, end);
    if (count === MORE) return 'more';
    if (count === TOO_LONG) return this.#fail('count-line-too-long');
    if (count === INVALID || count > this.#options.argumentsMax)
      return this.#fail('multibulk-length');
    if (this.isUnauthenticated && count > this.#options.unauthenticatedArgumentsMax)
      return this.#fail('unauthenticated-arguments');
    this.#moveTo(this.#lineEnd);
    if (count <= 0) return 'skipped';
    this.#wordsLeft = count;
    return this.#readWords(buffer, end);
  }

  #readWords(buffer: Uint8Array, end: number): Found {
    while (this.#wordsLeft > 0) {
      if (this.#wordBytes === UNKNOWN) {
        const found = this.#readWordLength(buffer, end);
        if (found !== 'length') return found;
      }
      const start = this.#position;
      const wordEnd = start + this.#wordBytes;
      if (wordEnd + 2 > end) return 'more';
      if (!isLineEnd(buffer, wordEnd)) return this.#fail('bulk-end');
      this.args.push(start, wordEnd);
      this.#wordBytes = UNKNOWN;
      this.#wordsLeft -= 1;
      this.#moveTo(wordEnd + 2);
    }
    return 'command';
  }

  #readWordLength(buffer: Uint8Array, end: number): 'length' | 'more' | 'failed' {
    if (this.#position === end) return 'more';
    const first = buffer[this.#position] as number;
    if (first !== DOLLAR) return this.#fail('expected-bulk', first);
    const bytes = this.#readLength(buffer, end);
    if (bytes === MORE) return 'more';
    if (bytes === TOO_LONG) return this.#fail('bulk-line-too-long');
    const { bulkBytesMax, commandBytesMax, unauthenticatedBulkBytesMax } = this.#options;
    const commandBytes = this.#lineEnd + bytes + 2 - this.#start;
    if (bytes < 0 || bytes > bulkBytesMax || commandBytes > commandBytesMax)
      return this.#fail('bulk-length');
    if (this.isUnauthenticated && bytes > unauthenticatedBulkBytesMax)
      return this.#fail('unauthenticated-bulk');
    this.#wordBytes = bytes;
    this.#moveTo(this.#lineEnd);
    return 'length';
  }

  /**
   * The number in the line at `position`, after its first byte, and where the line ends. It ends at a carriage
   * return, which a line feed must follow.
   */
  #readLength(buffer: Uint8Array, end: number): number {
    const lineEnd = this.#findLineEnd(buffer, end, CARRIAGE_RETURN);
    if (lineEnd < 0) return lineEnd;
    if (lineEnd + 1 === end) return MORE;
    if (buffer[lineEnd + 1] !== LINE_FEED) return INVALID;
    this.#lineEnd = lineEnd + 2;
    return numberIn(buffer, this.#position + 1, lineEnd);
  }

  #readInline(buffer: Uint8Array, end: number): Found | 'skipped' {
    const lineEnd = this.#findLineEnd(buffer, end, LINE_FEED);
    if (lineEnd === TOO_LONG) return this.#fail('inline-too-long');
    if (lineEnd === MORE) return 'more';
    const { args } = this;
    if (!splitInline(buffer.subarray(this.#position, lineEnd), args))
      return this.#fail('unbalanced-quotes');
    this.#moveTo(lineEnd + 1);
    if (args.length === 0) {
      args.reset(buffer, this.#isBorrowed && !this.#isGathering);
      return 'skipped';
    }
    return isHttp(args) ? this.#fail('http-request') : 'command';
  }

  /** The end of the line at `position`, or MORE or TOO_LONG. */
  #findLineEnd(buffer: Uint8Array, end: number, endByte: number): number {
    const longest = this.#position + this.#options.lineBytesMax;
    let at = this.#scanned;
    const stop = end <= longest ? end : longest + 1;
    while (at < stop && buffer[at] !== endByte) at += 1;
    if (at < stop) return at;
    this.#scanned = at;
    return at > longest ? TOO_LONG : MORE;
  }

  #moveTo(position: number): void {
    this.#position = position;
    this.#scanned = position;
  }

  #fail(kind: ProtocolFailureKind, found?: number): 'failed' {
    this.failure = protocolFailure(kind, found);
    return 'failed';
  }
}

/** Whether `size` bytes at `start` occur again at `at`, compared word by word: the last words may overlap. */
function isRepeated(view: DataView, start: number, at: number, size: number): boolean {
  const last = size - 4; // a head has more bytes than a word
  for (let index = 0; index < last; index += 4)
    if (view.getInt32(at + index) !== view.getInt32(start + index)) return false;
  return view.getInt32(at + last) === view.getInt32(start + last);
}

function isLineEnd(buffer: Uint8Array, at: number): boolean {
  return buffer[at] === CARRIAGE_RETURN && buffer[at + 1] === LINE_FEED;
}

/** A whole number as Redis writes it, without leading zeros or a plus; or NEGATIVE or INVALID. */
function numberIn(buffer: Uint8Array, start: number, end: number): number {
  const isNegative = buffer[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  const digits = end - first;
  if (digits === 1 && !isNegative && buffer[first] === ZERO) return 0;
  if (digits === 0 || digits > DIGITS_MAX || buffer[first] === ZERO) return INVALID;
  let value = 0;
  for (let at = first; at < end; at += 1) {
    const digit = (buffer[at] as number) - ZERO;
    if (digit < 0 || digit > 9) return INVALID;
    value = value * 10 + digit;
  }
  return isNegative ? NEGATIVE : value;
}
