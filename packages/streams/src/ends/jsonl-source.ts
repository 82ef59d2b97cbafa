// Files of JSON lines as a source: each file is a partition, each line a record.
//
// Content decides whether a position is still good: the checksum of up to 4 KiB before it. The inode only
// finds a file that was renamed. Batches end after a newline and are cut by the number of lines alone, so
// a run that was restarted cuts them at the same places.
//
// X38  A file that was truncated, rewritten or replaced is `position-lost`, never read from a wrong place.
import { assert, crc32, SynclineError } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import { positionLost } from './end-error.js';
import type { BadItem, EndPorts, Json, Source, SourceBatch } from './source.js';

export interface JsonlSourceOptions {
  readonly uid: string;
  readonly files: readonly string[];
  /** Wait for more lines at the end of a file. A last line without newline is then not a record yet. Default false. */
  readonly follow?: boolean;
  /**
   * `rename`: a file may be renamed within its directory and a new one started under its name; the old one is
   * read to its end first. Default: a new file under the name is `position-lost`. Needs `follow`.
   */
  readonly rotation?: 'rename';
  /** Lines per batch. Default 512. */
  readonly batchItems?: number;
  /** How often a followed file is looked at. Default 200. */
  readonly pollMs?: number;
}

export interface JsonlPosition {
  readonly inode: string;
  readonly offset: number;
  /** Checksum of the bytes before the offset, at most 4096. */
  readonly tail: number;
}

const TAIL_BYTES = 4_096;
const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function jsonlSource<T = unknown>(
  options: JsonlSourceOptions,
): Source<T, { readonly [K in keyof JsonlPosition]: JsonlPosition[K] }> {
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

  /** The path at which the file of a position is now. Throws `position-lost`. */
  async #locate(partition: string, position: JsonlPosition): Promise<string> {
    const { files, path, logger } = this.#world;
    const place = path(partition);
    const lost = (found: string) =>
      positionLost({ uid: this.uid, partition, position: position as unknown as Json, found });
    const stat = await files.stat(place);
    if (stat?.inode === position.inode) {
      if (stat.bytes < position.offset) {
        throw lost(`the file has ${stat.bytes} bytes only: it was truncated`);
      }
      if ((await this.#tailAt(place, position.offset)) !== position.tail) {
        throw lost('the bytes before the position differ: it was rewritten');
      }
      return place;
    }
    if (this.#options.rotation === 'rename') {
      const moved = await this.#findMoved(place, position);
      if (moved !== undefined) return moved;
    }
    if (stat === undefined) throw lost('the file is gone');
    const isSame =
      stat.bytes >= position.offset &&
      (await this.#tailAt(place, position.offset)) === position.tail &&
      position.offset > 0;
    if (!isSame) throw lost('another file is in its place');
    logger.warn('file was replaced by one with the same content', { source: this.uid, partition });
    return place;
  }

  async #findMoved(place: string, position: JsonlPosition): Promise<string | undefined> {
    const { files } = this.#world;
    const directory = place.split('/').slice(0, -1).join('/');
    for (const name of await files.list(directory)) {
      const candidate = directory === '' ? name : `${directory}/${name}`;
      const stat = await files.stat(candidate);
      if (stat?.inode !== position.inode || stat.bytes < position.offset) continue;
      if ((await this.#tailAt(candidate, position.offset)) === position.tail) return candidate;
    }
    return undefined;
  }

  async #tailAt(place: string, offset: number): Promise<number> {
    const start = Math.max(0, offset - TAIL_BYTES);
    return crc32(await this.#world.files.readAt(place, start, offset - start));
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
      const place = position === null ? path(partition) : await this.#locate(partition, position);
      const stat = await files.stat(place);
      if (stat === undefined) {
        if (!follow) throw this.#missing(partition, place);
        await clock.sleep(pollMs, signal);
        continue;
      }
      const cursor = new LineCursor<T>(files, place, stat.inode, position?.offset ?? 0, batchItems);
      if (position !== null) await cursor.restoreTail();
      const isMoved = rotation === 'rename' && place !== path(partition);
      for (;;) {
        const batch = await cursor.next(!follow || isMoved);
        if (batch === undefined) break;
        position = batch.position as unknown as JsonlPosition;
        yield batch;
        if (signal.aborted) return;
      }
      if (isMoved && (await files.stat(path(partition))) !== undefined) {
        // The old file is read to its end: the path goes on with a new one.
        yield {
          items: [],
          position: null,
          nextIncarnation: true,
        } satisfies SourceBatch<T, Json>;
        position = null;
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

  #missing(partition: string, place: string): SynclineError {
    return new SynclineError(
      'not-found',
      `source "${this.uid}": the file ${partition} does not exist (looked at /${place})`,
      { details: { uid: this.uid, partition } },
    );
  }
}

/** Cuts a file into batches of lines. */
class LineCursor<T> {
  readonly #files: EndPorts['files'];
  readonly #place: string;
  readonly #inode: string;
  readonly #batchItems: number;
  #offset: number;
  #buffer: Buffer = Buffer.alloc(0);
  /** Where the next line starts in the buffer. */
  #at = 0;
  /** The last bytes before the buffer, for the checksum of a position. */
  #tail: Buffer = Buffer.alloc(0);

  constructor(
    files: EndPorts['files'],
    place: string,
    inode: string,
    offset: number,
    batchItems: number,
  ) {
    this.#files = files;
    this.#batchItems = batchItems;
    this.#place = place;
    this.#inode = inode;
    this.#offset = offset;
  }

  async restoreTail(): Promise<void> {
    const start = Math.max(0, this.#offset - TAIL_BYTES);
    this.#tail = Buffer.from(await this.#files.readAt(this.#place, start, this.#offset - start));
  }

  /** Undefined if there is no complete line. `isFinal`: the last line needs no newline. */
  async next(isFinal: boolean): Promise<SourceBatch<T, Json> | undefined> {
    const items: T[] = [];
    const bad: BadItem[] = [];
    const { batchBytesMax, recordBytesMax } = streamsLimits;
    let bytes = 0;
    while (items.length + bad.length < this.#batchItems && bytes < batchBytesMax.value) {
      const line = await this.#line(isFinal);
      if (line === undefined) break;
      bytes += line.length;
      const text = trim(line);
      if (text.length === 0) continue;
      try {
        if (line.length > recordBytesMax.value) {
          throw new Error(`the line has more than ${recordBytesMax.value} bytes`);
        }
        items.push(JSON.parse(decoder.decode(text)) as T);
      } catch (thrown) {
        const { value: rawMax } = streamsLimits.deadLetterBytesMax;
        const raw = Uint8Array.from(text.subarray(0, rawMax));
        bad.push({ at: items.length, raw, reason: (thrown as Error).message });
      }
    }
    if (bytes === 0) return undefined;
    const position = this.position() as unknown as Json;
    return { items, position, ...(bad.length > 0 && { bad }) };
  }

  position(): JsonlPosition {
    const read = this.#buffer.subarray(0, this.#at);
    const before = read.length >= TAIL_BYTES ? read : Buffer.concat([this.#tail, read]);
    const offset = this.#offset + this.#at;
    return { inode: this.#inode, offset, tail: crc32(before.subarray(-TAIL_BYTES)) };
  }

  /** The next line with its newline. A line over the limit is given in one piece all the same. */
  async #line(isFinal: boolean): Promise<Buffer | undefined> {
    let searchFrom = this.#at;
    for (;;) {
      const newline = this.#buffer.indexOf(NEWLINE, searchFrom);
      if (newline >= 0) {
        const line = this.#buffer.subarray(this.#at, newline + 1);
        this.#at = newline + 1;
        return line;
      }
      searchFrom = this.#buffer.length;
      const heldBytes = this.#buffer.length - this.#at;
      if (await this.#fill()) {
        searchFrom = this.#at + heldBytes;
        continue;
      }
      if (!isFinal || heldBytes === 0) return undefined;
      const line = this.#buffer.subarray(this.#at);
      this.#at = this.#buffer.length;
      return line;
    }
  }

  /** Reads on. False at the end of the file. */
  async #fill(): Promise<boolean> {
    const end = this.#offset + this.#buffer.length;
    const chunk = Buffer.from(await this.#files.readAt(this.#place, end, CHUNK_BYTES));
    if (chunk.length === 0) return false;
    const read = this.#buffer.subarray(0, this.#at);
    this.#tail = Buffer.from(Buffer.concat([this.#tail, read]).subarray(-TAIL_BYTES));
    this.#buffer = Buffer.concat([this.#buffer.subarray(this.#at), chunk]);
    this.#offset += this.#at;
    this.#at = 0;
    return true;
  }
}

/** Without newline, carriage return and byte order mark. */
function trim(line: Buffer): Buffer {
  let end = line.length;
  if (line[end - 1] === NEWLINE) end -= 1;
  if (line[end - 1] === RETURN) end -= 1;
  const start = line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? 3 : 0;
  return line.subarray(start, end);
}
