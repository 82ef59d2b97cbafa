// From bytes to commands, whatever way the bytes were cut.
//
//   chunk ──▶ whole commands are read where they lie
//        └──▶ a command that goes on in the next chunk is gathered: exactly its own bytes are copied
//
// What is found depends on the bytes alone: each step is taken as soon as its bytes are there, and none
// looks further. Memory grows with what has arrived, never with a length that was declared.
//
// S14  Commands and errors do not depend on the chunks; nothing is read behind an error.
import { ByteList } from '../byte-list.js';
import { setsLimits } from '../limits.js';
import { type CommandParserOptions, CommandReader } from './command-reader.js';
import type { ProtocolFailure } from './protocol-failure.js';

const NO_BYTES = new Uint8Array(0);

export class CommandParser {
  /** The words of the command that `next` found. They stay until it is called again. */
  readonly args = new ByteList(NO_BYTES);
  readonly #reader: CommandReader;
  readonly #gathered = new GatheredBytes();
  #chunk: Uint8Array = NO_BYTES;
  #position = 0;
  #isGathering = false;

  constructor(options: CommandParserOptions = limitsOf(setsLimits)) {
    this.#reader = new CommandReader(this.args, options);
  }

  /** Set while the client has not shown the password: less is taken from it. */
  set isUnauthenticated(isUnauthenticated: boolean) {
    this.#reader.isUnauthenticated = isUnauthenticated;
  }

  /** After `failed`. */
  get failure(): ProtocolFailure | undefined {
    return this.#reader.failure;
  }

  /** Bytes of the command that `next` found. */
  get commandBytes(): number {
    return this.#reader.position - this.#reader.commandStart;
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
    return this.#position === this.#chunk.length;
  }

  /** Its bytes must stay as they are until all of it is read. Only when the chunk before it is. */
  feed(chunk: Uint8Array): void {
    this.#chunk = chunk;
    this.#position = 0;
  }

  /** `more`: no whole command is left in the chunk. `failed`: see `failure`; nothing more is read. */
  next(): 'command' | 'more' | 'failed' {
    if (this.#reader.failure !== undefined) return 'failed';
    if (this.#isGathering) return this.#gather();
    this.#gathered.clear(); // the command in it is over
    const reader = this.#reader;
    reader.start(this.#chunk, this.#position);
    const found = reader.read(this.#chunk, this.#chunk.length);
    if (found !== 'more') {
      this.#position = reader.position;
      return found;
    }
    this.#position = this.#chunk.length;
    this.#startGathering(reader.commandStart);
    return 'more';
  }

  /** Begins anew with a copy, since the rest of the command comes behind these bytes. */
  #startGathering(commandStart: number): void {
    if (commandStart === this.#chunk.length) return;
    this.#isGathering = true;
    this.#gathered.clear();
    this.#gathered.append(this.#chunk, commandStart, this.#chunk.length);
    this.#reader.start(this.#gathered.buffer, 0);
    this.#reader.read(this.#gathered.buffer, this.#gathered.length);
  }

  #gather(): 'command' | 'more' | 'failed' {
    const reader = this.#reader;
    const gathered = this.#gathered;
    for (;;) {
      if (this.#position === this.#chunk.length) return 'more';
      const end = this.#endOfWanted();
      gathered.append(this.#chunk, this.#position, end);
      this.#position = end;
      const found = reader.read(gathered.buffer, gathered.length);
      if (found === 'more' && reader.commandStart < gathered.length) continue;
      this.#isGathering = false;
      return found === 'more' ? this.next() : found;
    }
  }

  /** Up to where the chunk surely belongs to this command: the rest of a bulk string, or of a line. */
  #endOfWanted(): number {
    const bulkBytes = this.#reader.bulkBytesMissing(this.#gathered.length);
    if (bulkBytes > 0) return Math.min(this.#chunk.length, this.#position + bulkBytes);
    const lineEnd = this.#chunk.indexOf(0x0a, this.#position);
    return lineEnd === -1 ? this.#chunk.length : lineEnd + 1;
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
