// An append-only log of numbered records, kept in segment files.
//
// An append is one synchronous write, so a caller can change its memory, append and reply within one turn
// of the event loop. Syncs run in the background and are shared. Every record's checksum covers the one
// before it (segment-format.ts), so what a start finds is always a prefix of what was appended.
//
//   append -> the operating system has the record: it survives kill -9
//   sync   -> once it has resolved, the records appended before it survive power loss
//
// K41  Every record that a sync has covered survives power loss.
// K45  After a write error other than want of room, a failed cut or a failed sync, the log takes no more
//      records and always throws the same error.
import { assert } from '../assert.js';
import type { Clock } from '../clock.js';
import { SynclineError } from '../error.js';
import { DiskReserve } from '../files/disk-reserve.js';
import { isTemporary } from '../files/file-system-error.js';
import type { Files } from '../files/files.js';
import { kernelLimits } from '../limits.js';
import type { Logger } from '../logger.js';
import { makeLogDirectory, type SettledLog, settleLog } from './log-cut.js';
import { replayLog } from './log-replay.js';
import { SegmentFiles } from './segment-files.js';
import { OWNER_BYTES_MAX, RECORD_HEAD_BYTES, type RecordChain } from './segment-format.js';
import { SharedRun } from './shared-run.js';

const BODY_BYTES_MAX = kernelLimits.logRecordBytesMax.value;

export interface SegmentLogDeps {
  readonly files: Files;
  readonly logger: Logger;
  readonly clock: Clock;
}

export interface SegmentLogOptions {
  /** Below the root of `files`; created if missing. Nothing else may write there. */
  readonly directory: string;
  /** At most 255 bytes, stored in every segment. A log of another owner is refused as `corrupt`. */
  readonly owner: Uint8Array;
  /** A segment that has reached this size is followed by a new one. It may exceed it by one record. */
  readonly segmentBytesMax: number;
  /** Room kept back for appends with `useReserve`; 0 for none. */
  readonly reserveBytes: number;
  /** The first record that is wanted. Segments that end before it are not read. At least 1. */
  readonly replayFrom: number;
  /** For a log that was closed: a bad record is `corrupt`, instead of the place where the log is cut. */
  readonly mustBeWhole: boolean;
  /**
   * Called for each record from `replayFrom` on, in order; `body` is only valid during the call. If it
   * throws, `open` rejects with the error and nothing on disk has changed.
   */
  onRecord(number: number, kind: number, body: Uint8Array): void;
  /** Awaited after each chunk of about 1 MiB: the place to report progress and to let others run. */
  onProgress?(readBytes: number, totalBytes: number): Promise<void> | void;
}

export class SegmentLog implements AsyncDisposable {
  /** Bytes dropped when the log was opened, behind the first bad record. */
  readonly cutBytes: number;
  readonly #directory: string;
  readonly #logger: Logger;
  readonly #chain: RecordChain;
  readonly #files: SegmentFiles;
  readonly #reserve: DiskReserve;
  readonly #syncs = new SharedRun(() => this.#sync());
  #syncedThrough: number;
  #dropping: Promise<void> = Promise.resolve();
  #isClosed = false;
  #closing: Promise<void> | undefined;
  /** Once set, every call fails with it. */
  #failure: SynclineError | undefined;
  /** Reused by every append: the head of the record, then the parts of its body. */
  readonly #head = new Uint8Array(RECORD_HEAD_BYTES);
  readonly #headView = new DataView(this.#head.buffer);
  readonly #pieces: Uint8Array[] = [this.#head];

  /**
   * Replays the log, then cuts it behind the last good record. Resolves when everything that was replayed
   * is durable. Rejects with `corrupt` if records before the first segment are missing, if the log has
   * another owner or a newer format, or if it is damaged although it must be whole.
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
    const { directory, reserveBytes } = options;
    this.#directory = directory;
    this.#logger = deps.logger;
    this.#chain = settled.chain;
    this.#files = new SegmentFiles(deps, options, settled.segments);
    this.#reserve = new DiskReserve(deps, { path: `${directory}/reserve`, bytes: reserveBytes });
    this.cutBytes = settled.cutBytes;
    this.#syncedThrough = settled.chain.nextNumber - 1;
  }

  /** Of the oldest record still held. */
  get firstNumber(): number {
    return this.#files.segments[0]?.firstNumber ?? this.#chain.nextNumber;
  }

  /** Of the next record that is appended. */
  get nextNumber(): number {
    return this.#chain.nextNumber;
  }

  /** Every record up to this number is durable. */
  get syncedThrough(): number {
    return this.#syncedThrough;
  }

  /** Of all segments. */
  get bytes(): number {
    return this.#files.segments.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** How many files the log has. */
  get segments(): number {
    return this.#files.segments.length;
  }

  /** Whether the reserve has its full size; true if none is wanted. */
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
    for (const segment of this.#files.segments.toReversed()) {
      sum += segment.bytesFrom(number);
      if (segment.firstNumber <= number) break;
    }
    return sum;
  }

  /**
   * Appends one record with one write and returns its number. `kind` is 0 to 255. Throws `storage-full`
   * when there is no room, and `unavailable` when the very first segment cannot be opened: nothing has
   * changed then. Any other error is final. With `useReserve` the reserve is given up first; what is left
   * of it is kept for further appends of this kind, until there is room for the whole reserve again.
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
    const useReserve = options?.useReserve ?? false;
    if (!useReserve && !this.#reserve.restore()) throw noRoomBeyondReserve(this.#directory);
    const crc = this.#chain.crcOf(kind, length, parts);
    this.#headView.setUint32(0, length);
    this.#headView.setUint32(4, crc);
    this.#headView.setUint8(8, kind);
    for (const part of parts) this.#pieces.push(part);
    try {
      this.#files.write(this.#pieces, this.#chain);
    } catch (thrown) {
      this.#retryWithReserve(thrown, useReserve);
    } finally {
      this.#pieces.length = 1;
    }
    return this.#chain.advance(crc);
  }

  /** Gives up the reserve, for a caller that needs room for something else. False when it is empty. */
  releaseReserve(): boolean {
    return this.#reserve.release();
  }

  /**
   * Makes everything appended so far durable. One sync runs at a time; later callers share the next. Rejects
   * with `unavailable` when there is no file descriptor for it: try again. Any other error is final.
   */
  sync(): Promise<void> {
    return this.#syncs.request();
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
      this.#files.write(this.#pieces, this.#chain);
    } catch (again) {
      throw isTemporary(again) ? again : this.#fail(again);
    }
  }

  async #sync(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const through = this.#chain.nextNumber - 1;
    try {
      await this.#files.sync();
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
      await this.#files.dropBefore(number);
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
      await this.#files.removeUnused();
    } finally {
      await this.#files.close();
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
      `the log in ${directory} has failed and takes no more records: ${message}`,
      { outcome: 'unknown', cause: thrown, details: { directory } },
    );
    this.#logger.error('log failed', { directory, reason: message });
    return this.#failure;
  }
}

function noRoomBeyondReserve(directory: string): SynclineError {
  return new SynclineError(
    'storage-full',
    `cannot append to the log in ${directory}: no space left on the device beyond its reserve. ` +
      'Free some space, then try again.',
    { details: { directory } },
  );
}

function tooLarge(bytes: number): SynclineError {
  return new SynclineError(
    'limit-exceeded',
    `a record of ${bytes} bytes is too large: at most ${BODY_BYTES_MAX} bytes are allowed`,
    { details: { limit: 'logRecordBytesMax', bytes } },
  );
}
