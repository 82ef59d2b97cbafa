// The open files of a segment log: the one that is written, and those that are full and not yet synced.
//
// A full segment is followed by a new one without waiting: header and first record are one write. If
// there is no descriptor or no room for a new file, the current one goes on and the rotation is tried
// again later, so neither ends the writing.
//
// K44  A write that finds no room leaves every file as it was.
// K46  Running out of file descriptors, or of room for a new segment, does not end the writing.
import { SynclineError } from '../error.js';
import { isTemporary } from '../files/file-system-error.js';
import type { AppendHandle, Files } from '../files/files.js';
import { kernelLimits } from '../limits.js';
import type { Logger } from '../logger.js';
import { Segment } from './segment.js';
import { encodeSegmentHeader, type RecordChain } from './segment-format.js';

const ROTATION_RETRY_BYTES = kernelLimits.logRotationRetryBytes.value;
const UNSYNCED_SEGMENTS_MAX = kernelLimits.logUnsyncedSegmentsMax.value;

export interface SegmentFilesDeps {
  readonly files: Files;
  readonly logger: Logger;
}

export interface SegmentFilesOptions {
  readonly directory: string;
  readonly owner: Uint8Array;
  readonly segmentBytesMax: number;
}

interface OpenSegment {
  readonly segment: Segment;
  readonly handle: AppendHandle;
}

export class SegmentFiles {
  readonly #deps: SegmentFilesDeps;
  readonly #directory: string;
  readonly #owner: Uint8Array;
  readonly #segmentBytesMax: number;
  /** Oldest first; the last one is the current one. */
  readonly #segments: Segment[];
  /** Undefined in an empty log, until the first write. */
  #current: OpenSegment | undefined;
  /** Of full segments with records that are not synced. */
  #unsynced: AppendHandle[] = [];
  /** A new segment whose first write found no room: an empty file that must not stay. */
  #leftover: AppendHandle | undefined;
  #hasNewRecords = false;
  /** A segment was created since the directory was last synced. */
  #hasNewNames = false;
  /** The current segment is followed by a new one from this size on. */
  #rotateAtBytes: number;

  constructor(deps: SegmentFilesDeps, options: SegmentFilesOptions, segments: Segment[]) {
    this.#deps = deps;
    this.#directory = options.directory;
    this.#owner = options.owner.slice();
    this.#segmentBytesMax = options.segmentBytesMax;
    this.#rotateAtBytes = options.segmentBytesMax;
    this.#segments = segments;
    const segment = segments.at(-1);
    if (segment) this.#current = { segment, handle: deps.files.openAppend(segment.path) };
  }

  get segments(): readonly Segment[] {
    return this.#segments;
  }

  /**
   * Writes the next record of the chain with one write. Throws `storage-full` or `unavailable` if there
   * is no room, or no descriptor for a first segment: then nothing has changed. Any other error is final.
   */
  write(pieces: readonly Uint8Array[], chain: RecordChain): void {
    const current = this.#current;
    if (current === undefined) {
      this.#startSegment(pieces, chain);
    } else if (
      current.handle.length < this.#rotateAtBytes ||
      !this.#rotate(current, pieces, chain)
    ) {
      const { segment, handle } = current;
      appendOrRestore(handle, pieces);
      segment.mark(chain.nextNumber, segment.bytes);
      segment.bytes = handle.length;
    }
    this.#hasNewRecords = true;
  }

  /**
   * Makes every write so far durable, and the names of the segments. Throws `unavailable` when there is no
   * descriptor to sync the directory; the next sync tries again. Any other error is final.
   */
  async sync(): Promise<void> {
    if (this.#current && this.#leftover) await this.#removeLeftover(this.#leftover);
    const full = [...this.#unsynced];
    const changed = this.#hasNewRecords && this.#current ? [...full, this.#current.handle] : [];
    const hadNewNames = this.#hasNewNames;
    this.#hasNewRecords = false;
    this.#hasNewNames = false;
    await Promise.all(changed.map((handle) => handle.sync()));
    if (hadNewNames) await this.#syncNames();
    this.#unsynced = this.#unsynced.slice(full.length);
    await Promise.allSettled(full.map((handle) => handle.close()));
  }

  /**
   * Removes the segments whose records are all below `number`, except the newest. Oldest first, and each
   * removal is durable before the next one: a loss of power never leaves a gap between segments. The names
   * of those that stay are durable before the first one goes, so it does not leave an empty log either.
   */
  async dropBefore(number: number): Promise<void> {
    for (let isFirst = true; ; isFirst = false) {
      const [oldest, second] = this.#segments;
      if (oldest === undefined || second === undefined || second.firstNumber > number) return;
      if (isFirst) await this.#deps.files.syncDir(this.#directory);
      await this.#deps.files.remove(oldest.path).catch(ignoreMissing);
      this.#segments.shift();
      await this.#deps.files.syncDir(this.#directory);
    }
  }

  /** For a log that closes cleanly: leaves no file without a record. */
  async removeUnused(): Promise<void> {
    if (this.#leftover) await this.#removeLeftover(this.#leftover);
    if (this.#hasNewNames) await this.#deps.files.syncDir(this.#directory);
    this.#hasNewNames = false;
  }

  async close(): Promise<void> {
    const handles = [...this.#unsynced, this.#current?.handle, this.#leftover];
    await Promise.allSettled(handles.map(async (handle) => handle?.close()));
  }

  async #syncNames(): Promise<void> {
    try {
      await this.#deps.files.syncDir(this.#directory);
    } catch (thrown) {
      this.#hasNewNames = true;
      throw thrown;
    }
  }

  /** False if the current segment has to take the record. */
  #rotate(current: OpenSegment, pieces: readonly Uint8Array[], chain: RecordChain): boolean {
    const isBlocked =
      this.#leftover !== undefined || this.#unsynced.length >= UNSYNCED_SEGMENTS_MAX;
    let reason = 'earlier segments wait for a sync';
    try {
      if (!isBlocked) {
        this.#startSegment(pieces, chain);
        this.#unsynced.push(current.handle);
        return true;
      }
    } catch (thrown) {
      if (!isTemporary(thrown)) throw thrown;
      reason = SynclineError.from(thrown).message;
    }
    const { path, bytes } = current.segment;
    const isFirstAttempt = this.#rotateAtBytes === this.#segmentBytesMax;
    const level = isFirstAttempt ? 'warn' : 'debug';
    this.#deps.logger[level]('log segment not rotated', { segment: path, bytes, reason });
    this.#rotateAtBytes = current.handle.length + ROTATION_RETRY_BYTES;
    return false;
  }

  /** Creates a segment with its header and the next record. */
  #startSegment(pieces: readonly Uint8Array[], chain: RecordChain): void {
    const { nextNumber, crc } = chain;
    const owner = this.#owner;
    const header = encodeSegmentHeader({ owner, firstNumber: nextNumber, chainCrc: crc });
    const segment = new Segment(this.#directory, nextNumber, 0);
    const handle = this.#leftover ?? this.#openNew(segment.path);
    this.#leftover = handle;
    appendOrRestore(handle, [header, ...pieces]);
    this.#leftover = undefined;
    segment.mark(nextNumber, header.length);
    segment.bytes = handle.length;
    this.#segments.push(segment);
    this.#current = { segment, handle };
    this.#hasNewNames = true;
    this.#rotateAtBytes = this.#segmentBytesMax;
  }

  #openNew(path: string): AppendHandle {
    const handle = this.#deps.files.openAppend(path);
    if (handle.length === 0) return handle;
    void handle.close();
    throw new SynclineError(
      'storage-failed',
      `the new log segment ${path} exists already. Probably another process uses its directory.`,
    );
  }

  /**
   * Removes the file of a rotation that failed: left behind, it would end the log at the next start.
   * While the log is empty it is kept for the first record instead.
   */
  async #removeLeftover(leftover: AppendHandle): Promise<void> {
    await leftover.sync(); // without the part of a record that it may have had
    await this.#deps.files.remove(leftover.path);
    this.#leftover = undefined;
    this.#hasNewNames = true;
    await leftover.close();
  }
}

/** Someone may have tidied up by hand. */
function ignoreMissing(thrown: unknown): void {
  if (!(thrown instanceof SynclineError) || thrown.code !== 'not-found') throw thrown;
}

/** K44  After a write that found no room, the file is as it was. */
function appendOrRestore(handle: AppendHandle, pieces: readonly Uint8Array[]): void {
  const { length } = handle;
  try {
    handle.append(pieces);
  } catch (thrown) {
    if (!(thrown instanceof SynclineError) || thrown.code !== 'storage-full') throw thrown;
    handle.truncate(length);
    const { message, details } = thrown;
    throw new SynclineError('storage-full', message, { details, cause: thrown });
  }
}
