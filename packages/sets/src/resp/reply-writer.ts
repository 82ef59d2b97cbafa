// Encodes the replies of one connection behind each other, in RESP2 or RESP3 as the client has asked.
//
// The replies of a turn lie in one buffer, which leaves with them: bytes that were handed on must not
// change. The next buffer is made as large as the last turn needed, so an idle connection holds none and
// a busy one seldom grows its own.
import { assert } from '@syncline/kernel';
import type { ByteList } from '../byte-list.js';
import type { Client } from '../commands/client.js';
import type { Reply } from './reply.js';

const ARRAY = 0x2a;
const BULK = 0x24;
const ERROR = 0x2d;
const INTEGER = 0x3a;
const MAP = 0x25;
const SET = 0x7e;
const SIMPLE = 0x2b;
const VERBATIM = 0x3d;

const NO_BYTES = Buffer.alloc(0);
const BUFFER_BYTES_MIN = 64;
const BUFFER_BYTES_MAX = 65_536;
/** Type, at most 17 characters of a number, line end. */
const HEADER_BYTES_MAX = 20;
/** Below, a loop is faster than making a view for a copy. */
const LOOP_BYTES_MAX = 48;

export interface ReplyWriterDeps {
  readonly client: Pick<Client, 'protocol'>;
  readonly integers: IntegerReplies;
  /** See `Reply.room`. */
  room(): Promise<void> | undefined;
}

export class ReplyWriter implements Reply {
  /** Bytes that are written and not taken. */
  length = 0;
  readonly #deps: ReplyWriterDeps;
  #buffer: Buffer = NO_BYTES;
  #nextSize = BUFFER_BYTES_MIN;
  /** Bytes that were taken before. Marks count from the first byte of the connection. */
  #taken = 0;

  constructor(deps: ReplyWriterDeps) {
    this.#deps = deps;
  }

  /** Hands on what was written before `end`; what is behind it stays. */
  take(end = this.length): Uint8Array {
    assert(end >= 0 && end <= this.length, 'only what was written can be taken');
    const buffer = this.#buffer;
    const { length } = this;
    this.#nextSize = Math.min(BUFFER_BYTES_MAX, Math.max(BUFFER_BYTES_MIN, end));
    this.#buffer = NO_BYTES;
    this.#taken += end;
    this.length = 0;
    if (end < length) this.raw(buffer.subarray(end, length));
    return end === buffer.length ? buffer : buffer.subarray(0, end);
  }

  /** Drops what was written from `start` on. */
  cutTo(start: number): void {
    assert(start >= 0 && start <= this.length, 'only what was written can be dropped');
    this.length = start;
  }

  mark(): number {
    return this.#taken + this.length;
  }

  /** Something behind the mark was taken. */
  isTaken(mark: number): boolean {
    return mark < this.#taken;
  }

  rewind(mark: number): boolean {
    if (this.isTaken(mark)) return false;
    this.cutTo(mark - this.#taken);
    return true;
  }

  /** Where a mark lies in what is not taken; 0 when some behind it was taken. */
  startOf(mark: number): number {
    return Math.max(0, mark - this.#taken);
  }

  integer(value: number): void {
    const { integers } = this.#deps;
    this.#reserve(HEADER_BYTES_MAX);
    if (integers.has(value)) this.length = integers.write(value, this.#buffer, this.length);
    else this.#header(INTEGER, value);
  }

  bulk(buffer: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start + HEADER_BYTES_MAX + 2);
    this.#header(BULK, end - start);
    this.#copy(buffer, start, end);
    this.#lineEnd();
  }

  bulkText(text: string): void {
    this.#text(BULK, '', text);
  }

  bulkOf(list: ByteList, index: number): void {
    this.bulk(list.buffer, list.start(index), list.end(index));
  }

  simple(text: string): void {
    this.#line(SIMPLE, text);
  }

  error(text: string): void {
    this.#line(ERROR, text);
  }

  nullBulk(): void {
    this.#plain(this.#isThree ? '_\r\n' : '$-1\r\n');
  }

  nullArray(): void {
    this.#plain(this.#isThree ? '_\r\n' : '*-1\r\n');
  }

  array(length: number): void {
    this.#open(ARRAY, length);
  }

  set(length: number): void {
    this.#open(this.#isThree ? SET : ARRAY, length);
  }

  map(length: number): void {
    if (this.#isThree) this.#open(MAP, length);
    else this.#open(ARRAY, length * 2);
  }

  verbatim(text: string): void {
    if (this.#isThree) this.#text(VERBATIM, 'txt:', text);
    else this.bulkText(text);
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#copy(bytes, 0, bytes.length);
  }

  room(): Promise<void> | undefined {
    return this.#deps.room();
  }

  get #isThree(): boolean {
    return this.#deps.client.protocol === 3;
  }

  #open(type: number, length: number): void {
    this.#reserve(HEADER_BYTES_MAX);
    this.#header(type, length);
  }

  #text(type: number, prefix: string, text: string): void {
    const size = prefix.length + text.length;
    this.#reserve(size + HEADER_BYTES_MAX + 2);
    this.#header(type, size);
    this.#plain(prefix);
    this.#plain(text);
    this.#lineEnd();
  }

  #line(type: number, text: string): void {
    const line = /[\r\n]/.test(text) ? text.replaceAll(/[\r\n]/g, ' ') : text;
    this.#reserve(line.length + 3);
    this.#byte(type);
    this.#plain(line);
    this.#lineEnd();
  }

  /** The caller has reserved HEADER_BYTES_MAX. */
  #header(type: number, value: number): void {
    this.#byte(type);
    if (value >= 0 && value < 10) this.#byte(0x30 + value);
    else this.#plain(String(value));
    this.#lineEnd();
  }

  /** One byte per character. */
  #plain(text: string): void {
    this.#reserve(text.length);
    this.length += this.#buffer.write(text, this.length, 'latin1');
  }

  #byte(byte: number): void {
    this.#buffer[this.length] = byte;
    this.length += 1;
  }

  #lineEnd(): void {
    this.#buffer[this.length] = 0x0d;
    this.#buffer[this.length + 1] = 0x0a;
    this.length += 2;
  }

  #copy(bytes: Uint8Array, start: number, end: number): void {
    const target = this.#buffer;
    const offset = this.length - start;
    if (end - start > LOOP_BYTES_MAX) target.set(bytes.subarray(start, end), this.length);
    else for (let at = start; at < end; at += 1) target[offset + at] = bytes[at] ?? 0;
    this.length += end - start;
  }

  #reserve(bytes: number): void {
    if (this.length + bytes > this.#buffer.length) this.#grow(this.length + bytes);
  }

  #grow(bytes: number): void {
    const grown = Buffer.allocUnsafe(Math.max(this.#nextSize, this.#buffer.length * 2, bytes));
    if (this.length > 0) grown.set(this.#buffer.subarray(0, this.length));
    this.#buffer = grown;
  }
}

const INTEGER_STRIDE = 8;
const SMALLEST = -1;
const LARGEST = 9_999;

/** The replies `:-1` to `:9999`, encoded in advance: nearly every integer reply is one of them. */
export class IntegerReplies {
  /** Per value its number of bytes, then the bytes; the longest has 7. */
  readonly #table = new Uint8Array((LARGEST - SMALLEST + 1) * INTEGER_STRIDE);

  constructor() {
    for (let value = SMALLEST; value <= LARGEST; value += 1) {
      const text = `:${value}\r\n`;
      const at = (value - SMALLEST) * INTEGER_STRIDE;
      this.#table[at] = text.length;
      for (let index = 0; index < text.length; index += 1)
        this.#table[at + 1 + index] = text.charCodeAt(index);
    }
  }

  has(value: number): boolean {
    return value >= SMALLEST && value <= LARGEST;
  }

  /** Writes the reply, which takes at most 7 bytes, and gives where it ends. */
  write(value: number, target: Uint8Array, position: number): number {
    const table = this.#table;
    const at = (value - SMALLEST) * INTEGER_STRIDE;
    const size = table[at] ?? 0;
    for (let index = 0; index < size; index += 1)
      target[position + index] = table[at + 1 + index] ?? 0;
    return position + size;
  }
}
