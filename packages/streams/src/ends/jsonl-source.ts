// Files of JSON lines as a source: each file is a partition, each line a record.
//
// The content decides whether a position is still valid: the checksum of up to 4 KiB before it. The inode is only used
// to find a renamed file. Every read opens the path again, so every read checks both: if the file was replaced in the
// meantime, it is located again. Batches end after a newline and are split only by the number and size of their lines,
// so a restarted run splits them at the same places.
//
// X38  A file that was truncated, rewritten or replaced is reported as `position-lost`, never read from a wrong place.
import {
  assert,
  type FileStat,
  type OptionNames,
  refuseUnknownOptions,
  SynclineError,
} from '@syncline/kernel';
import { crc32 } from '@syncline/kernel/node';
import { streamsLimits } from '../limits.js';
import { optionMissing, positionLost } from './end-error.js';
import {
  type JsonlPosition,
  LineCursor,
  type LocatedFile,
  readFrom,
  TAIL_BYTES,
} from './line-cursor.js';
import type { EndPorts, Json, Source, SourceBatch } from './source.js';

export interface JsonlSourceOptions {
  readonly uid: string;
  readonly files: readonly string[];
  /** Wait for more lines at the end of a file. A last line without newline is then not a record yet. Default false. */
  readonly follow?: boolean;
  /**
   * `rename`: a file may be renamed within its directory and replaced by a new one. The old file is followed until the
   * new one has content, and read to its end first. Default: a replaced file is `position-lost`, as is one that was
   * rotated twice before it was read to its end. Requires `follow`.
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
  #isChecked = false;

  constructor(options: JsonlSourceOptions) {
    this.uid = options.uid;
    this.isFinite = options.follow !== true;
    this.#options = options;
  }

  attach(ports: EndPorts): void {
    this.#ports = ports;
  }

  async partitions(): Promise<readonly string[]> {
    const { files } = this.#options;
    if (!this.#isChecked) await this.#checkDistinct(files);
    this.#isChecked = true;
    return files;
  }

  async check(partition: string, position: Json): Promise<void> {
    const { files } = this.#options;
    const last = position as unknown as JsonlPosition;
    const file = await this.#locate(partition, last);
    const successor = await this.#successorOf(partition, file);
    if (successor !== undefined) await this.#checkNoneBetween(partition, last, file, successor);
    if (!files.includes(partition)) await this.#checkDistinct([partition, ...files]);
  }

  /** A partition is its path, so a file under a second path would be read twice. */
  async #checkDistinct(partitions: readonly string[]): Promise<void> {
    const { files, path } = this.#world;
    const known = new Map<string, string>();
    for (const partition of partitions) {
      const stat = await files.stat(path(partition));
      if (stat === undefined || stat.bytes === 0) continue;
      const file = [stat.inode, stat.bytes, stat.modifiedMs].join(); // two disks may use the same inode
      const other = known.get(file) ?? partition;
      known.set(file, other);
      if (other === partition) continue;
      throw new SynclineError(
        'conflict',
        `source "${this.uid}": ${partition} and ${other} are the same file, which would be read twice. ` +
          'Pass each file once, under the path that it had in earlier runs.',
        { details: { uid: this.uid, partition, other } },
      );
    }
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
    const { follow = false, pollMs = 200 } = this.#options;
    const { batchItems = streamsLimits.batchItemsMax.value } = this.#options;
    let position = from as unknown as JsonlPosition | null;
    let cursor: LineCursor<T> | undefined;
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
      if (!cursor?.isCuttingIn(file))
        cursor = new LineCursor<T>(files, file, position?.offset ?? 0, batchItems);
      // Checked before the old file is read to its end: its writer may append to it until it opens the new one.
      const successor = await this.#successorOf(partition, file);
      for (;;) {
        const batch = await cursor.next(!follow || successor !== undefined);
        if (batch === undefined) break;
        position = batch.position as unknown as JsonlPosition;
        yield batch;
        if (signal.aborted) return;
      }
      if (successor !== undefined) {
        await this.#checkNoneBetween(partition, cursor.position(), file, successor);
        // With the inode, the new file is found even if it is renamed before its first line is read.
        position = { inode: successor.inode, offset: 0, tail: 0 };
        yield { items: [], position: position as unknown as Json, nextIncarnation: true };
        continue;
      }
      if (!follow) {
        yield { items: [], position: cursor.position() as unknown as Json, end: true };
        return;
      }
      // An empty file may be renamed as soon as it has its first lines.
      if (this.#options.rotation === 'rename') position ??= cursor.position();
      yield { items: [], position: position as unknown as Json, idle: true };
      await clock.sleep(pollMs, signal);
    }
  }

  /** The new file, once it has content, at the path of one that was renamed. */
  async #successorOf(partition: string, { place }: LocatedFile) {
    const { files, path } = this.#world;
    if (this.#options.rotation !== 'rename' || place === path(partition)) return undefined;
    const stat = await files.stat(path(partition));
    return stat !== undefined && stat.bytes > 0 ? stat : undefined;
  }

  /** Finds a file that was written and renamed after this one between two polls, by its name and its age. */
  async #checkNoneBetween(
    partition: string,
    position: JsonlPosition,
    { place, inode }: LocatedFile,
    successor: FileStat,
  ): Promise<void> {
    const { files } = this.#world;
    const at = place.lastIndexOf('/') + 1;
    const directory = place.slice(0, Math.max(0, at - 1));
    const read = await files.stat(place);
    for (const name of await files.list(directory)) {
      if (patternOf(name) !== patternOf(place.slice(at))) continue;
      const other = await files.stat(`${place.slice(0, at)}${name}`);
      if (other === undefined || other.bytes === 0) continue;
      if (other.inode === inode || other.inode === successor.inode) continue;
      if (read === undefined || other.modifiedMs <= read.modifiedMs) continue;
      const found = `it was rotated more than once since then, and ${name} was not read`;
      throw positionLost({
        uid: this.uid,
        partition,
        position: position as unknown as Json,
        found,
      });
    }
  }

  async #fileAt(place: string): Promise<LocatedFile | undefined> {
    const stat = await this.#world.files.stat(place);
    return stat && { place, inode: stat.inode, tail: Buffer.alloc(0) };
  }

  #missing(partition: string, place: string): SynclineError {
    const where = partition === `/${place}` ? '' : ` (looked for /${place})`;
    return new SynclineError(
      'not-found',
      `source "${this.uid}": the file ${partition} does not exist${where}. Check its name, or set follow to wait for it.`,
      { details: { uid: this.uid, partition } },
    );
  }
}

/** Equal for all files of a rotation, such as `in.jsonl.1` and `in.jsonl.2`, or those with a date in their name. */
function patternOf(name: string): string {
  return name.replace(/\d+/g, '#');
}
