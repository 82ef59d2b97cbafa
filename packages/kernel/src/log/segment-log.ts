// An append-only log of numbered records, kept in segment files.
//
// An append is one synchronous write, so a caller can change its memory, append and reply within one turn of the
// event loop. Syncs run in the background and are shared. Every record's checksum covers the one before it
// (segment-format.ts), so what a start finds is always a prefix of what was appended.
//
//   append -> the operating system has the record: it survives kill -9
//   sync   -> once it has resolved, the records appended before it survive power loss
//
// A full segment is followed by a new one without waiting: header and first record are one write. If there is no
// descriptor or no space for a new file, the current one grows and the rotation is retried later.
//
// K41  Every record that a sync has covered survives power loss.
// K44  A write that finds the disk full leaves every file as it was.
// K45  After a write error other than lack of space, a failed cut or a failed sync, the log takes no more records and
//      always throws the same error.
// K46  Running out of file descriptors, or of space for a new segment, does not stop writing.
import { assert } from '../assert.js';
import type { Clock } from '../clock.js';
import { SynclineError } from '../error.js';
import { DiskReserve } from '../files/disk-reserve.js';
import { isTemporary } from '../files/file-system-error.js';
import type { AppendHandle, Files } from '../files/files.js';
import { kernelLimits } from '../limits.js';
import type { Logger } from '../logger.js';
import { dropSegments, makeLogDirectory, type SettledLog, settleLog } from './log-cut.js';
import { type ReplayOptions, replayLog } from './log-replay.js';
import {
  encodeSegmentHeader,
  OWNER_BYTES_MAX,
  RECORD_HEAD_BYTES,
  type RecordChain,
  Segment,
} from './segment-format.js';
import { UnsyncedFiles } from './unsynced-files.js';

const BODY_BYTES_MAX = kernelLimits.logRecordBytesMax.value;
const ROTATION_RETRY_BYTES = kernelLimits.logRotationRetryBytes.value;
const UNSYNCED_SEGMENTS_MAX = kernelLimits.logUnsyncedSegmentsMax.value;

export interface SegmentLogDeps {
  readonly files: Files;
  readonly logger: Logger;
  readonly clock: Clock;
}

export interface SegmentLogOptions extends ReplayOptions {
  /** A segment that has reached this size is followed by a new one. It may exceed it by one record. */
  readonly segmentBytesMax: number;
  /** Disk space reserved for appends with `useReserve`; 0 for none. */
  readonly reserveBytes: number;
}

interface OpenSegment {
  readonly segment: Segment;
  readonly handle: AppendHandle;
}

export class SegmentLog implements AsyncDisposable {
  /** Bytes dropped when the log was opened, after the first bad record. */
  readonly cutBytes: number;
  readonly #deps: SegmentLogDeps;
  readonly #directory: string;
  readonly #owner: Uint8Array;
  readonly #segmentBytesMax: number;
  readonly #chain: RecordChain;
  readonly #reserve: DiskReserve;
  /** Oldest first; the last one is the current segment. */
  readonly #segments: Segment[];
  /** Undefined while the log has no segment. */
  #current: OpenSegment | undefined;
  /** The current segment is followed by a new one from this size on. */
  #rotateAtBytes: number;
  readonly #unsynced: UnsyncedFiles;
  #syncedThrough: number;
  /** Resolves when the sync in flight has ended. */
  #syncing: Promise<void> | undefined;
  #nextSync: Promise<void> | undefined;
  #dropping: Promise<void> = Promise.resolve();
  #isClosed = false;
  #closing: Promise<void> | undefined;
  /** Once set, every call fails with it. */
  #failure: SynclineError | undefined;
  /** Reused by every append: the header of the record, then the parts of its body. */
  readonly #head = new Uint8Array(RECORD_HEAD_BYTES);
  readonly #headView = new DataView(this.#head.buffer);
  readonly #pieces: Uint8Array[] = [this.#head];

  /**
   * Replays the log, then cuts it after the last good record. Resolves when everything that was replayed is durable.
   * Rejects with `corrupt` if records before the first segment are missing, if the log has another owner or a newer
   * format, or if it is damaged although it must be complete.
   */
  static async open(deps: SegmentLogDeps, options: SegmentLogOptions): Promise<SegmentLog> {
    assert(options.owner.length <= OWNER_BYTES_MAX, 'the owner of a log has at most 255 bytes');
    assert(options.replayFrom >= 1, 'records are numbered from 1');
    await makeLogDirectory(deps.files, options.directory);
    const replayed = await replayLog(deps.files, options);
    const log = new SegmentLog(deps, options, await settleLog(deps, options, replayed));
    await log.#reserve.fill();
    return log;
  }

  private constructor(deps: SegmentLogDeps, options: SegmentLogOptions, settled: SettledLog) {
    const { directory, owner, segmentBytesMax, reserveBytes } = options;
    const { segments, chain, cutBytes } = settled;
    this.#deps = deps;
    this.#directory = directory;
    this.#owner = owner.slice();
    this.#segmentBytesMax = segmentBytesMax;
    this.#rotateAtBytes = segmentBytesMax;
    this.#chain = chain;
    this.#syncedThrough = chain.nextNumber - 1;
    this.#segments = segments;
    this.cutBytes = cutBytes;
    this.#unsynced = new UnsyncedFiles(deps.files, directory);
    this.#reserve = new DiskReserve(deps, { path: `${directory}/reserve`, bytes: reserveBytes });
    const segment = segments.at(-1);
    if (segment) this.#current = { segment, handle: deps.files.openAppend(segment.path) };
  }

  /** The number of the oldest record still in the log. */
  get firstNumber(): number {
    return this.#segments[0]?.firstNumber ?? this.#chain.nextNumber;
  }

  /** The number of the next record to be appended. */
  get nextNumber(): number {
    return this.#chain.nextNumber;
  }

  /** Every record up to this number is durable. */
  get syncedThrough(): number {
    return this.#syncedThrough;
  }

  /** The size of all segments. */
  get bytes(): number {
    return this.#segments.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  get segments(): number {
    return this.#segments.length;
  }

  /** Why an append without `useReserve` is refused; undefined unless the reserve was released. */
  get fullBy(): SynclineError | undefined {
    return this.#reserve.isGivenUp ? this.#reserve.noRoom() : undefined;
  }

  get isFullReserve(): boolean {
    return this.#reserve.isFull;
  }

  /**
   * Bytes from record `number` to the end of the log, for deciding when to write a checkpoint. Too high by
   * at most 256 KiB and one record; by up to a segment if that one was skipped when the log was opened.
   */
  bytesFrom(number: number): number {
    if (number >= this.#chain.nextNumber) return 0;
    let sum = 0;
    for (const segment of this.#segments.toReversed()) {
      sum += segment.bytesFrom(number);
      if (segment.firstNumber <= number) break;
    }
    return sum;
  }

  /**
   * Appends one record with one write and returns its number. `kind` is 0 to 255. Throws `storage-full` when the disk
   * is full, and `unavailable` when the very first segment cannot be opened: then nothing has changed. Any other
   * error is final. With `useReserve` the reserve is released first; the rest of it is kept for further appends of
   * this kind, until there is space for the whole reserve again.
   */
  append(
    kind: number,
    parts: readonly Uint8Array[],
    options?: { readonly useReserve?: boolean },
  ): number {
    this.#checkOpen();
    assert(kind >= 0 && kind <= 255, 'the kind of a record is one byte');
    let length = 0;
    for (const part of parts) length += part.length;
    if (length > BODY_BYTES_MAX) throw tooLarge(length);
    const { useReserve = false } = options ?? {};
    if (!useReserve && !this.#reserve.restore()) throw this.#reserve.noRoom();
    const crc = this.#chain.crcOf(kind, length, parts);
    this.#headView.setUint32(0, length);
    this.#headView.setUint32(4, crc);
    this.#headView.setUint8(8, kind);
    for (const part of parts) this.#pieces.push(part);
    try {
      this.#write();
    } catch (thrown) {
      this.#retryWithReserve(thrown, useReserve);
    } finally {
      this.#pieces.length = 1;
    }
    return this.#chain.advance(crc);
  }

  /** Releases the reserve, for a caller that needs space for something else. False when it is empty. */
  releaseReserve(): boolean {
    return this.#reserve.release();
  }

  /**
   * Makes everything appended so far durable. One sync runs at a time; callers that arrive during it share the
   * next one, since this one may not cover their records. Rejects with `unavailable` when there is no file
   * descriptor for it: try again. Any other error is final.
   */
  sync(): Promise<void> {
    if (this.#nextSync !== undefined) return this.#nextSync;
    if (this.#syncing === undefined) return this.#startSync();
    this.#nextSync = this.#syncing.then(() => {
      this.#nextSync = undefined;
      return this.#startSync();
    });
    return this.#nextSync;
  }

  /**
   * Removes the segments whose records are all below `number`; the newest always stays. Records below
   * `number` are synced first.
   */
  dropBefore(number: number): Promise<void> {
    const dropped = this.#dropping.then(() => this.#drop(number));
    this.#dropping = dropped.catch(() => {});
    return dropped;
  }

  /** Syncs, then closes. Rejects if the last records could not be made durable. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #retryWithReserve(thrown: unknown, useReserve: boolean): void {
    if (!isTemporary(thrown)) throw this.#fail(thrown);
    if (!useReserve || !this.#reserve.release()) throw thrown;
    try {
      this.#write();
    } catch (again) {
      throw isTemporary(again) ? again : this.#fail(again);
    }
  }

  /**
   * Writes the record in `#pieces`. If there is no space, or no descriptor for a first segment, nothing has changed.
   */
  #write(): void {
    const current = this.#current;
    if (current === undefined) {
      this.#startSegment();
    } else if (current.handle.length < this.#rotateAtBytes || !this.#rotate(current)) {
      const { segment, handle } = current;
      this.#unsynced.changed(handle); // also by the cut after a write that found the disk full
      appendOrRestore(handle, this.#pieces);
      segment.mark(this.#chain.nextNumber, segment.bytes);
      segment.bytes = handle.length;
    }
  }

  /** False if the current segment has to take the record. */
  #rotate(current: OpenSegment): boolean {
    const isBlocked =
      this.#unsynced.isBeginningNew ||
      this.#unsynced.leftover !== undefined ||
      this.#unsynced.fullCount >= UNSYNCED_SEGMENTS_MAX;
    let reason = 'earlier segments are waiting for a sync';
    try {
      if (!isBlocked) {
        this.#startSegment();
        return true;
      }
    } catch (thrown) {
      if (!isTemporary(thrown)) throw thrown;
      reason = SynclineError.from(thrown).message;
    }
    const { path, bytes } = current.segment;
    const level = this.#rotateAtBytes === this.#segmentBytesMax ? 'warn' : 'debug';
    this.#deps.logger[level]('log segment not rotated', { segment: path, bytes, reason });
    this.#rotateAtBytes = current.handle.length + ROTATION_RETRY_BYTES;
    return false;
  }

  /** Creates a segment with its header and the next record. */
  #startSegment(): void {
    const { nextNumber, crc } = this.#chain;
    const owner = this.#owner;
    const header = encodeSegmentHeader({ owner, firstNumber: nextNumber, chainCrc: crc });
    const segment = new Segment(this.#directory, nextNumber, 0);
    const handle = this.#unsynced.leftover ?? openNew(this.#deps.files, segment.path);
    this.#unsynced.starting(handle);
    appendOrRestore(handle, [header, ...this.#pieces]);
    this.#unsynced.started(handle, this.#current?.handle);
    segment.mark(nextNumber, header.length);
    segment.bytes = handle.length;
    this.#segments.push(segment);
    this.#current = { segment, handle };
    this.#rotateAtBytes = this.#segmentBytesMax;
  }

  #startSync(): Promise<void> {
    const sync = this.#sync();
    const ended = () => {
      this.#syncing = undefined;
    };
    this.#syncing = sync.then(ended, ended); // callers get its error
    return sync;
  }

  async #sync(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const through = this.#chain.nextNumber - 1;
    try {
      if (this.#current && this.#unsynced.leftover) await this.#unsynced.removeLeftover();
      await this.#unsynced.sync();
    } catch (thrown) {
      throw isTemporary(thrown) ? thrown : this.#fail(thrown);
    }
    this.#syncedThrough = through;
    this.#reserve.refill();
  }

  async #drop(number: number): Promise<void> {
    this.#checkOpen();
    if (this.#syncedThrough < number - 1) await this.sync();
    try {
      await dropSegments(this.#deps.files, this.#directory, this.#segments, number);
    } catch (thrown) {
      const { code } = SynclineError.from(thrown, 'storage-failed');
      throw code === 'storage-failed' ? this.#fail(thrown) : thrown;
    }
    await this.#reserve.fill();
  }

  async #close(): Promise<void> {
    this.#isClosed = true;
    try {
      await this.#dropping;
      await this.sync();
      await this.#unsynced.removeLeftover();
    } finally {
      await this.#unsynced.close();
      await this.#current?.handle.close();
      await this.#reserve.close();
    }
  }

  #checkOpen(): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (!this.#isClosed) return;
    throw new SynclineError('closed', `the log in ${this.#directory} is closed`);
  }

  #fail(thrown: unknown): SynclineError {
    if (this.#failure !== undefined) return this.#failure;
    const directory = this.#directory;
    const { message } = SynclineError.from(thrown, 'storage-failed');
    this.#failure = new SynclineError(
      'storage-failed',
      `the log in ${directory} has failed and accepts no more records: ${message}`,
      { outcome: 'unknown', cause: thrown, details: { directory } },
    );
    this.#deps.logger.error('log failed', { directory, reason: message });
    return this.#failure;
  }
}

function tooLarge(bytes: number): SynclineError {
  const message = `a record of ${bytes} bytes is too large: at most ${BODY_BYTES_MAX} bytes are allowed`;
  const details = { limit: 'logRecordBytesMax', bytes };
  return new SynclineError('limit-exceeded', message, { details });
}

function openNew(files: Files, path: string): AppendHandle {
  const handle = files.openAppend(path);
  if (handle.length === 0) return handle;
  void handle.close();
  const message = `the new log segment ${path} already exists. Another process is probably using the directory.`;
  throw new SynclineError('storage-failed', message);
}

/** K44  After a write that found the disk full, the file is as it was. */
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
