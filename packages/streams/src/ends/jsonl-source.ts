// Files of JSON lines as a source: each file is a partition, each line a record.
//
// The content decides whether a position is still valid: the checksum of up to 4 KiB before it. The inode is only used
// to find a renamed file. Every read opens the path again, so every read checks both: if the file was replaced in the
// meantime, it is located again. Batches end after a newline and are split only by the number and size of their lines,
// so a restarted run splits them at the same places.
//
// X38  A file that was truncated, rewritten or replaced is reported as `position-lost`, never read from a wrong place.
import { isUtf8 } from 'node:buffer';
import { assert, type OptionNames, refuseUnknownOptions, SynclineError } from '@syncline/kernel';
import { crc32 } from '@syncline/kernel/node';
import { streamsLimits } from '../limits.js';
import { optionMissing, positionLost } from './end-error.js';
import type { BadItem, EndPorts, Json, Source, SourceBatch } from './source.js';

export interface JsonlSourceOptions {
  readonly uid: string;
  readonly files: readonly string[];
  /** Wait for more lines at the end of a file. A last line without newline is then not a record yet. Default false. */
  readonly follow?: boolean;
  /**
   * `rename`: a file may be renamed within its directory and replaced by a new one. The old file is followed until the
   * new one has content, and read to its end first. Default: a replaced file is `position-lost`. Requires `follow`.
   */
  readonly rotation?: 'rename';
  /** Lines per batch. Default 512. */
  readonly batchItems?: number;
  /** How often a followed file is checked for new lines. Default 200. */
  readonly pollMs?: number;
}

const OPTIONS: OptionNames<JsonlSourceOptions> = {
  uid: true,
  files: true,
  follow: true,
  rotation: true,
  batchItems: true,
  pollMs: true,
};

export interface JsonlPosition {
  readonly inode: string;
  readonly offset: number;
  /** Checksum of the bytes before the offset, at most 4096. */
  readonly tail: number;
}

/** A file, and up to 4096 bytes before the place where reading continues. */
interface LocatedFile {
  readonly place: string;
  readonly inode: string;
  readonly tail: Buffer;
}

const TAIL_BYTES = 4_096;
/** Large, because each read opens the file again. */
const CHUNK_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const BRACE = 0x7b;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function jsonlSource<T = unknown>(
  options: JsonlSourceOptions,
): Source<T, { readonly [K in keyof JsonlPosition]: JsonlPosition[K] }> {
  refuseUnknownOptions(options, 'jsonlSource', OPTIONS);
  if (!Array.isArray(options.files)) throw optionMissing('jsonlSource', 'files', 'a list of paths');
  return new JsonlSource<T>(options) as never;
}

class JsonlSource<T> implements Source<T, Json> {
  readonly uid: string;
  readonly isFinite: boolean;
  readonly #options: JsonlSourceOptions;
  #ports: EndPorts | undefined;

  constructor(options: JsonlSourceOptions) {
    this.uid = options.uid;
    this.isFinite = options.follow !== true;
    this.#options = options;
  }

  attach(ports: EndPorts): void {
    this.#ports = ports;
  }

  async partitions(): Promise<readonly string[]> {
    return this.#options.files;
  }

  async check(partition: string, position: Json): Promise<void> {
    await this.#locate(partition, position as unknown as JsonlPosition);
  }

  get #world(): EndPorts {
    assert(this.#ports !== undefined, 'a source is attached before it is used');
    return this.#ports;
  }

  /** Finds the file of a position, even if it was renamed. Throws `position-lost`. */
  async #locate(partition: string, position: JsonlPosition): Promise<LocatedFile> {
    const { files, path, logger } = this.#world;
    const place = path(partition);
    const lost = (found: string) =>
      positionLost({ uid: this.uid, partition, position: position as unknown as Json, found });
    const stat = await files.stat(place);
    if (stat?.inode === position.inode) {
      if (stat.bytes < position.offset) {
        throw lost(`the file has only ${stat.bytes} bytes: it was truncated`);
      }
      const tail = await this.#tailAt(place, position.inode, position.offset);
      if (crc32(tail) !== position.tail) {
        throw lost('the bytes before the position differ: it was rewritten');
      }
      return { place, inode: position.inode, tail };
    }
    if (this.#options.rotation === 'rename') {
      const moved = await this.#findMoved(place, position);
      if (moved !== undefined) return moved;
    }
    if (stat === undefined) throw lost('the file is gone');
    const { inode } = stat;
    const tail = await this.#tailAt(place, inode, position.offset);
    const isSame =
      stat.bytes >= position.offset && crc32(tail) === position.tail && position.offset > 0;
    if (!isSame) throw lost('another file is in its place');
    logger.warn('file was replaced by one with the same content', { source: this.uid, partition });
    return { place, inode, tail };
  }

  async #findMoved(place: string, position: JsonlPosition): Promise<LocatedFile | undefined> {
    const { files } = this.#world;
    const directory = place.split('/').slice(0, -1).join('/');
    for (const name of await files.list(directory)) {
      const candidate = directory === '' ? name : `${directory}/${name}`;
      const stat = await files.stat(candidate);
      if (stat?.inode !== position.inode || stat.bytes < position.offset) continue;
      const { inode } = position;
      const tail = await this.#tailAt(candidate, inode, position.offset);
      if (crc32(tail) === position.tail) return { place: candidate, inode, tail };
    }
    return undefined;
  }

  async #tailAt(place: string, inode: string, offset: number): Promise<Buffer> {
    const start = Math.max(0, offset - TAIL_BYTES);
    return await readFrom(this.#world.files, { place, inode }, start, offset - start);
  }

  async *read(
    partition: string,
    from: Json | null,
    signal: AbortSignal,
  ): AsyncGenerator<SourceBatch<T, Json>> {
    const { files, path, clock } = this.#world;
    const { follow = false, rotation, pollMs = 200 } = this.#options;
    const { batchItems = streamsLimits.batchItemsMax.value } = this.#options;
    let position = from as unknown as JsonlPosition | null;
    while (!signal.aborted) {
      const file =
        position === null
          ? await this.#fileAt(path(partition))
          : await this.#locate(partition, position);
      if (file === undefined) {
        if (!follow) throw this.#missing(partition, path(partition));
        await clock.sleep(pollMs, signal);
        continue;
      }
      const cursor = new LineCursor<T>(files, file, position?.offset ?? 0, batchItems);
      const isMoved = rotation === 'rename' && file.place !== path(partition);
      // Checked before the old file is read to its end: its writer may append to it until it opens the new one.
      const successor = isMoved ? await files.stat(path(partition)) : undefined;
      const isOver = successor !== undefined && successor.bytes > 0;
      for (;;) {
        const batch = await cursor.next(!follow || isOver);
        if (batch === undefined) break;
        position = batch.position as unknown as JsonlPosition;
        yield batch;
        if (signal.aborted) return;
      }
      if (isOver) {
        // With the inode, the new file is found even if it is renamed before its first line is read.
        position = { inode: successor.inode, offset: 0, tail: 0 };
        yield { items: [], position: position as unknown as Json, nextIncarnation: true };
        continue;
      }
      if (!follow) {
        yield { items: [], position: cursor.position() as unknown as Json, end: true };
        return;
      }
      yield { items: [], position: position as unknown as Json, idle: true };
      await clock.sleep(pollMs, signal);
    }
  }

  async #fileAt(place: string): Promise<LocatedFile | undefined> {
    const stat = await this.#world.files.stat(place);
    return stat && { place, inode: stat.inode, tail: Buffer.alloc(0) };
  }

  #missing(partition: string, place: string): SynclineError {
    return new SynclineError(
      'not-found',
      `source "${this.uid}": the file ${partition} does not exist (looked for /${place})`,
      { details: { uid: this.uid, partition } },
    );
  }
}

/** Reads from the file with this inode. Throws a retryable error if it is no longer at this place. */
async function readFrom(
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

/** Splits a file into batches of lines. */
class LineCursor<T> {
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

  constructor(files: EndPorts['files'], file: LocatedFile, offset: number, batchItems: number) {
    this.#files = files;
    this.#file = file;
    this.#batchItems = batchItems;
    this.#offset = offset;
    this.#tail = file.tail;
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
    return { ...batch, position: this.position() as unknown as Json };
  }

  /** The lines of the next batch that are in the buffer. A line above the limit is not split. */
  #nextLines(isFinal: boolean): Lines {
    const { batchBytesMax, recordBytesMax } = streamsLimits;
    const buffer = this.#buffer;
    const bytesEnd = this.#at + batchBytesMax.value;
    let end = this.#at;
    let count = 0;
    let areObjects = true;
    while (count < this.#batchItems && end < bytesEnd) {
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
      if (end - start > recordBytesMax.value) areObjects = false;
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
        if (end - start > recordBytesMax.value) {
          throw new Error(`the line has more than ${recordBytesMax.value} bytes`);
        }
        items.push(JSON.parse(this.#text(from, to)) as T);
      } catch (thrown) {
        const rawEnd = Math.min(to, from + deadLetterBytesMax.value);
        const raw = Uint8Array.from(this.#buffer.subarray(from, rawEnd));
        bad.push({ at: items.length, raw, reason: (thrown as Error).message });
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
    const start = this.#offset + this.#buffer.length - known.length;
    const bytes = await readFrom(this.#files, this.#file, start, known.length + CHUNK_BYTES);
    if (!known.equals(bytes.subarray(0, known.length))) throw fileChanged(this.#file.place);
    const chunk = bytes.subarray(known.length);
    if (chunk.length === 0) return false;
    this.#tail = Buffer.from(this.#before(this.#at));
    this.#buffer = Buffer.concat([this.#buffer.subarray(this.#at), chunk]);
    this.#offset += this.#at;
    this.#at = 0;
    // Checking many lines at once is cheaper than one by one; a newline byte is never part of another character.
    const linesEnd = this.#buffer.lastIndexOf(NEWLINE) + 1;
    this.#validUtf8End = isUtf8(this.#buffer.subarray(0, linesEnd)) ? linesEnd : 0;
    return true;
  }
}
