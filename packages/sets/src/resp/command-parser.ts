// From bytes to commands, whatever way the bytes were cut.
//
//   chunk ──▶ whole commands are read where they lie
//        └──▶ a command that goes on in the next chunk is gathered: exactly its own bytes are copied
//
//   start ── `*n` ──▶ length ── `$b` ──▶ word ── b bytes, line end ──▶ length … ──▶ command
//     └── any other byte: an inline command, up to its line feed
//
// What is found depends on the bytes alone: each step is taken as soon as its bytes are there, and none looks
// further. Memory grows with what has arrived, never with a length that was declared.
//
// S14  Commands and errors do not depend on the chunks; nothing is read behind an error.
import { ByteList } from '../byte-list.js';
import { setsLimits } from '../limits.js';
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

type Found = 'command' | 'more' | 'failed';

const NO_BYTES = new Uint8Array(0);
const STAR = 0x2a;
const DOLLAR = 0x24;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;
const ZERO = 0x30;
const MINUS = 0x2d;
/** The first byte of a TLS connection. */
const TLS_HANDSHAKE = 0x16;

/** Nearly all lengths have fewer digits. */
const SHORT_DIGITS_MAX = 7;
/** More digits are out of any range. */
const DIGITS_MAX = 18;

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
  /** Set while the client has not shown the password: less is taken from it. */
  isUnauthenticated = false;
  readonly #options: CommandParserOptions;
  readonly #gathered = new GatheredBytes();
  #failure: ProtocolFailure | undefined;
  #chunk: Uint8Array = NO_BYTES;
  #isBorrowed = false;
  /** Up to here the chunk was read or gathered. */
  #chunkRead = 0;
  #isGathering = false;

  // The command that is being read, in the chunk or in what was gathered.
  #start = 0;
  #position = 0;
  /** Words that are still to come; 0 at the start of a command. */
  #wordsLeft = 0;
  /** Bytes of the next word, or UNKNOWN. */
  #wordBytes = UNKNOWN;
  /** Where the line ends that was read last. */
  #lineEnd = 0;
  /** Up to here the line that is being read has no end. A long line is thus looked at once, not once per chunk. */
  #scanned = 0;
  #isFirstByte = true;

  constructor(options: CommandParserOptions = limitsOf(setsLimits)) {
    this.#options = options;
  }

  /** After `failed`. */
  get failure(): ProtocolFailure | undefined {
    return this.#failure;
  }

  /** Bytes of the command that `next` found. */
  get commandBytes(): number {
    return this.#position - this.#start;
  }

  /** The first bytes of a command are here, and not all of it. */
  get isMidCommand(): boolean {
    return this.#isGathering;
  }

  /** Memory of a command that arrives in pieces. */
  get gatheredBytes(): number {
    return this.#gathered.buffer.length;
  }

  /** All of the chunk was read: another one may come. */
  get isChunkRead(): boolean {
    return this.#chunkRead === this.#chunk.length;
  }

  /** Only when the chunk before it is read. `isBorrowed`: call `keepRest` before its bytes change. */
  feed(chunk: Uint8Array, isBorrowed = false): void {
    this.#chunk = chunk;
    this.#chunkRead = 0;
    this.#isBorrowed = isBorrowed;
  }

  /** Copies what is not read of a borrowed chunk. */
  keepRest(): void {
    if (!this.#isBorrowed) return;
    this.#isBorrowed = false;
    this.#chunk = new Uint8Array(this.#chunk.subarray(this.#chunkRead));
    this.#chunkRead = 0;
  }

  /** `more`: no whole command is left in the chunk. `failed`: see `failure`; nothing more is read. */
  next(): Found {
    if (this.#failure !== undefined) return 'failed';
    if (this.#isGathering) return this.#gather();
    this.#gathered.clear(); // the command in it is over
    const chunk = this.#chunk;
    this.#begin(chunk, this.#chunkRead);
    const found = this.#read(chunk, chunk.length);
    this.#chunkRead = found === 'more' ? chunk.length : this.#position;
    if (found === 'more' && this.#start < chunk.length) this.#startGathering();
    return found;
  }

  // A command that arrives in pieces.

  /** Begins again with a copy, since the rest of the command comes behind these bytes. */
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

  /** Up to where the chunk surely belongs to this command: the rest of a bulk string, or of a line. */
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
    this.#goOn(position);
    this.args.reset(buffer, this.#isBorrowed && !this.#isGathering);
  }

  /** `more`: the bytes end before the command does. Call it again with more of them behind the same ones. */
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
    this.#goOn(this.#lineEnd);
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
      if (buffer[wordEnd] !== CARRIAGE_RETURN || buffer[wordEnd + 1] !== LINE_FEED)
        return this.#fail('bulk-end');
      this.args.push(start, wordEnd);
      this.#wordBytes = UNKNOWN;
      this.#wordsLeft -= 1;
      this.#goOn(wordEnd + 2);
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
    this.#goOn(this.#lineEnd);
    return 'length';
  }

  /**
   * The number in the line at `position`, behind its first byte, and where the line ends. It ends at a carriage
   * return, and the line feed must follow.
   */
  #readLength(buffer: Uint8Array, end: number): number {
    const last = Math.min(end - 2, this.#position + 1 + SHORT_DIGITS_MAX);
    let at = this.#position + 1;
    let digit = (buffer[at] as number) - ZERO;
    if (digit > 0) {
      let value = 0;
      for (; at < last && digit >= 0 && digit <= 9; digit = (buffer[at] as number) - ZERO) {
        value = value * 10 + digit;
        at += 1;
      }
      if (at <= last && buffer[at] === CARRIAGE_RETURN && buffer[at + 1] === LINE_FEED) {
        this.#lineEnd = at + 2;
        return value;
      }
    }
    return this.#readAnyLength(buffer, end);
  }

  #readAnyLength(buffer: Uint8Array, end: number): number {
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
    this.#goOn(lineEnd + 1);
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

  #goOn(position: number): void {
    this.#position = position;
    this.#scanned = position;
  }

  #fail(kind: ProtocolFailureKind, found?: number): 'failed' {
    this.#failure = protocolFailure(kind, found);
    return 'failed';
  }
}

function limitsOf(limits: typeof setsLimits): CommandParserOptions {
  return {
    lineBytesMax: limits.lineBytesMax.value,
    argumentsMax: limits.argumentsMax.value,
    bulkBytesMax: limits.bulkBytesMax.value,
    commandBytesMax: limits.commandBytesMax.value,
    unauthenticatedArgumentsMax: limits.unauthenticatedArgumentsMax.value,
    unauthenticatedBulkBytesMax: limits.unauthenticatedBulkBytesMax.value,
  };
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

/** A browser that was led here to speak for somebody else sends HTTP. */
function isHttp(args: ByteList): boolean {
  const size = args.sizeOf(0);
  if (size !== 4 && size !== 5) return false;
  const word = args.text(0).toLowerCase();
  return word === 'post' || word === 'host:';
}

const BYTES_MIN = 256;
/** A larger buffer is given back when its command is done. */
const BYTES_KEPT_MAX = 16_384;

/** The bytes of a command that arrives in pieces, one after the other in one buffer. */
class GatheredBytes {
  buffer: Uint8Array = new Uint8Array(0);
  length = 0;

  clear(): void {
    this.length = 0;
    if (this.buffer.length > BYTES_KEPT_MAX) this.buffer = new Uint8Array(0);
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    const length = this.length + end - start;
    if (length > this.buffer.length) this.#grow(length);
    this.buffer.set(bytes.subarray(start, end), this.length);
    this.length = length;
  }

  #grow(length: number): void {
    const grown = new Uint8Array(Math.max(BYTES_MIN, this.buffer.length * 2, length));
    grown.set(this.buffer.subarray(0, this.length));
    this.buffer = grown;
  }
}
