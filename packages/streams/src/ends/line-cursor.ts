// Splits a file into batches of JSON lines.
//
// A line above the record limit is a bad record, however long it is; its middle is never held in memory. Batches are
// split only by the number and true size of their lines.
import { isUtf8 } from 'node:buffer';
import { assert, SynclineError } from '@syncline/kernel';
import { crc32 } from '@syncline/kernel/node';
import { streamsLimits } from '../limits.js';
import type { BadItem, EndPorts, Json, SourceBatch } from './source.js';

export interface JsonlPosition {
  readonly inode: string;
  readonly offset: number;
  /** Checksum of the bytes before the offset, at most 4096. */
  readonly tail: number;
}

/** A file, and up to 4096 bytes before the place where reading continues. */
export interface LocatedFile {
  readonly place: string;
  readonly inode: string;
  readonly tail: Buffer;
}

export const TAIL_BYTES = 4_096;
/** Large, because each read opens the file again. */
const CHUNK_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const BRACE = 0x7b;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads from the file with this inode. Throws a retryable error if it is no longer at this place. */
export async function readFrom(
  files: EndPorts['files'],
  { place, inode }: Pick<LocatedFile, 'place' | 'inode'>,
  offset: number,
  length: number,
): Promise<Buffer> {
  let bytes: Uint8Array | undefined;
  try {
    bytes = await files.readAt(place, offset, length);
  } catch (thrown) {
    if (!(thrown instanceof SynclineError) || thrown.code !== 'not-found') throw thrown;
  }
  // Checked after the read: if the inode is still in place, the bytes are from it.
  const stat = await files.stat(place);
  if (bytes === undefined || stat?.inode !== inode) throw fileChanged(place);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Makes the reader start again from its last position, which then finds a moved file or reports a lost one. */
function fileChanged(place: string): SynclineError {
  return new SynclineError('unavailable', `the file /${place} was replaced while it was read`);
}

/** Complete lines in the buffer, starting at the cursor. */
interface Lines {
  readonly end: number;
  /** Number of non-empty lines. */
  readonly count: number;
  /** Each line starts with a brace and is not too long. */
  readonly areObjects: boolean;
  /** The batch is full. */
  readonly isFull: boolean;
}

export class LineCursor<T> {
  readonly #files: EndPorts['files'];
  readonly #file: LocatedFile;
  readonly #batchItems: number;
  #offset: number;
  #buffer: Buffer = Buffer.alloc(0);
  /** Where the next line starts in the buffer. */
  #at = 0;
  /** The buffer is known to be valid UTF-8 up to here. */
  #validUtf8End = 0;
  /** The last bytes before the buffer, for the checksum of a position. */
  #tail: Buffer;
  /** Where a line starts in the buffer that is too long to be kept, and how much of its middle is missing there. */
  #cutAt = -1;
  #cutBytes = 0;

  constructor(files: EndPorts['files'], file: LocatedFile, offset: number, batchItems: number) {
    this.#files = files;
    this.#file = file;
    this.#batchItems = batchItems;
    this.#offset = offset;
    this.#tail = file.tail;
  }

  /** Whether it is within a line of this file that is too long, which may have gigabytes and is not read again. */
  isCuttingIn({ place, inode }: LocatedFile): boolean {
    return this.#cutBytes > 0 && place === this.#file.place && inode === this.#file.inode;
  }

  /** Undefined if there is no complete line. With `isFinal`, the last line needs no newline. */
  async next(isFinal: boolean): Promise<SourceBatch<T, Json> | undefined> {
    let lines = this.#nextLines(false);
    while (!lines.isFull && (await this.#fill())) lines = this.#nextLines(false);
    if (!lines.isFull && isFinal) lines = this.#nextLines(true);
    if (lines.end === this.#at) return undefined;
    const items = this.#parseAll(lines);
    const batch = items === undefined ? this.#parseEach(lines) : { items };
    this.#at = lines.end;
    if (this.#cutAt < lines.end) {
      this.#offset += this.#cutBytes;
      this.#cutAt = -1;
      this.#cutBytes = 0;
    }
    return { ...batch, position: this.position() as unknown as Json };
  }

  /** The lines of the next batch that are in the buffer. A line above the limit is not split. */
  #nextLines(isFinal: boolean): Lines {
    const { batchBytesMax, recordBytesMax } = streamsLimits;
    const buffer = this.#buffer;
    let end = this.#at;
    let count = 0;
    let bytes = 0;
    let areObjects = true;
    while (count < this.#batchItems && bytes < batchBytesMax.value) {
      const start = end;
      const newline = buffer.indexOf(NEWLINE, start);
      if (newline < 0 && (!isFinal || start === buffer.length)) {
        return { end, count, areObjects, isFull: false };
      }
      end = newline < 0 ? buffer.length : newline + 1;
      if (buffer[start] === BRACE) count += 1;
      else {
        areObjects = false;
        const [from, to] = this.#trimmed(start, end);
        if (from < to) count += 1;
      }
      const length = this.#lengthOf(start, end);
      if (length > recordBytesMax.value) areObjects = false;
      bytes += length;
    }
    return { end, count, areObjects, isFull: true };
  }

  /**
   * Parses all lines as one array, which takes half the time. This is safe because each line starts with a brace and
   * the text contains no other array: a comma before a brace can then only separate two items, so no item spans two
   * lines. The newlines are kept, since JSON does not allow them in strings: so no string spans two lines either. If
   * there are as many items as lines, each line is one item. Undefined if this is not possible.
   */
  #parseAll({ end, count, areObjects }: Lines): T[] | undefined {
    if (!areObjects || end > this.#validUtf8End) return undefined;
    const text = this.#buffer.toString('utf8', this.#at, end - 1);
    if (text.includes('[')) return undefined;
    try {
      const items = JSON.parse(`[${text.replaceAll('\n', ',\n')}]`) as T[];
      return items.length === count ? items : undefined;
    } catch {
      return undefined; // parsing the lines one by one finds the bad one
    }
  }

  #parseEach({ end: linesEnd }: Lines): { readonly items: T[]; readonly bad?: BadItem[] } {
    const { recordBytesMax, deadLetterBytesMax } = streamsLimits;
    const items: T[] = [];
    const bad: BadItem[] = [];
    for (let start = this.#at, end = start; start < linesEnd; start = end) {
      const newline = this.#buffer.indexOf(NEWLINE, start);
      end = newline < 0 ? linesEnd : newline + 1;
      const [from, to] = this.#trimmed(start, end);
      if (from === to) continue;
      try {
        if (this.#lengthOf(start, end) > recordBytesMax.value) {
          throw new Error(`the line has more than ${recordBytesMax.value} bytes`);
        }
        items.push(JSON.parse(this.#text(from, to)) as T);
      } catch (thrown) {
        const rawEnd = Math.min(to, from + deadLetterBytesMax.value);
        const raw = Uint8Array.from(this.#buffer.subarray(from, rawEnd));
        const place = `the line at byte ${this.#placeOf(start)}`;
        bad.push({ at: items.length, raw, reason: (thrown as Error).message, place });
      }
    }
    return bad.length === 0 ? { items } : { items, bad };
  }

  position(): JsonlPosition {
    const offset = this.#offset + this.#at;
    return { inode: this.#file.inode, offset, tail: crc32(this.#before(this.#at)) };
  }

  /** Up to 4096 bytes before a place in the buffer. */
  #before(at: number): Buffer {
    const read = this.#buffer.subarray(Math.max(0, at - TAIL_BYTES), at);
    if (read.length === TAIL_BYTES) return read;
    return Buffer.concat([this.#tail, read]).subarray(-TAIL_BYTES);
  }

  /** Throws if the bytes are not valid UTF-8. */
  #text(from: number, to: number): string {
    if (to <= this.#validUtf8End) return this.#buffer.toString('utf8', from, to);
    return decoder.decode(this.#buffer.subarray(from, to));
  }

  /** The range of a line without its newline, carriage return and byte order mark. */
  #trimmed(start: number, end: number): readonly [number, number] {
    const line = this.#buffer;
    let to = end;
    if (line[to - 1] === NEWLINE) to -= 1;
    if (to > start && line[to - 1] === RETURN) to -= 1;
    const hasMark = line[start] === 0xef && line[start + 1] === 0xbb && line[start + 2] === 0xbf;
    return [hasMark ? Math.min(start + 3, to) : start, to];
  }

  /** Reads more, after checking that the bytes before have not changed. Returns false at the end of the file. */
  async #fill(): Promise<boolean> {
    const known = this.#before(this.#buffer.length);
    const start = this.#offset + this.#buffer.length + this.#cutBytes - known.length;
    const bytes = await readFrom(this.#files, this.#file, start, known.length + CHUNK_BYTES);
    if (!known.equals(bytes.subarray(0, known.length))) throw fileChanged(this.#file.place);
    const chunk = bytes.subarray(known.length);
    if (chunk.length === 0) return false;
    this.#tail = Buffer.from(this.#before(this.#at));
    this.#buffer = Buffer.concat([this.#buffer.subarray(this.#at), chunk]);
    this.#offset += this.#at;
    this.#cutAt -= this.#at;
    this.#at = 0;
    this.#dropMiddle();
    // Checking many lines at once is cheaper than one by one; a newline byte is never part of another character.
    const linesEnd = this.#buffer.lastIndexOf(NEWLINE) + 1;
    this.#validUtf8End = isUtf8(this.#buffer.subarray(0, linesEnd)) ? linesEnd : 0;
    return true;
  }

  /** Where a line starts in the file. */
  #placeOf(start: number): number {
    return this.#offset + start + (start > this.#cutAt ? this.#cutBytes : 0);
  }

  /** The size of a line in the file, including its newline. */
  #lengthOf(start: number, end: number): number {
    return end - start + (start === this.#cutAt ? this.#cutBytes : 0);
  }

  /** Of an unfinished line that is too long, keeps what a dead letter shows, and what a position is checked by. */
  #dropMiddle(): void {
    const buffer = this.#buffer;
    const { recordBytesMax, deadLetterBytesMax } = streamsLimits;
    const start = buffer.lastIndexOf(NEWLINE) + 1;
    if (this.#lengthOf(start, buffer.length) <= recordBytesMax.value) return;
    const headEnd = start + deadLetterBytesMax.value;
    const tailStart = buffer.length - TAIL_BYTES;
    if (tailStart <= headEnd) return;
    assert(this.#cutBytes === 0 || this.#cutAt === start, 'a line that was cut is read first');
    this.#buffer = Buffer.concat([buffer.subarray(0, headEnd), buffer.subarray(tailStart)]);
    this.#cutAt = start;
    this.#cutBytes += tailStart - headEnd;
  }
}
