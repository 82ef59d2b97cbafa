// An append handle on the real disk: one open file, written with plain synchronous calls.
//
// A small write into the page cache takes about 2 microseconds; handing it to the thread pool takes ten
// times as long and lets other callbacks run in between. Only the sync waits for the disk, so only the
// sync is asynchronous.
//
// K33  An error of a sync is final for its file.
// K34  An append is one write to the end of the file.
import {
  closeSync,
  fdatasync,
  fstatSync,
  fsync,
  ftruncateSync,
  openSync,
  writeSync,
  writevSync,
} from 'node:fs';
import { promisify } from 'node:util';
import { SynclineError } from '../error.js';
import { checkCut } from './file-place.js';
import {
  errnoOf,
  type FileSystemProblem,
  failedEarlierSync,
  failedSync,
  fileSystemError,
  writeError,
} from './file-system-error.js';
import type { AppendHandle } from './files.js';

export const OWNER_ONLY_FILE = 0o600;
/** IOV_MAX of Linux and macOS: more parts would take more than one system call. */
const GATHERED_PARTS_MAX = 1024;

const flushData = promisify(fdatasync);
const flushAll = promisify(fsync);

/** What all handles below one root share. */
export interface SharedByHandles {
  /** Inodes whose sync has failed. */
  readonly failedInodes: Set<string>;
  /** Small appends are gathered here. */
  readonly scratch: Uint8Array;
}

/** `place` is the full path on the real disk. */
export function openSystemAppend(
  path: string,
  place: string,
  shared: SharedByHandles,
): AppendHandle {
  try {
    return new SystemAppendHandle(path, place, shared);
  } catch (cause) {
    throw fileSystemError({ action: 'open', path: place, errno: errnoOf(cause), cause });
  }
}

class SystemAppendHandle implements AppendHandle {
  readonly path: string;
  readonly #place: string;
  readonly #shared: SharedByHandles;
  readonly #descriptor: number;
  readonly #inode: string;
  readonly #syncs = new Set<Promise<void>>();
  #length: number;
  /** A cut only changes the length, which `fdatasync` does not have to write. */
  #wasCut = false;
  #closing: Promise<void> | undefined;

  constructor(path: string, place: string, shared: SharedByHandles) {
    this.path = path;
    this.#place = place;
    this.#shared = shared;
    this.#descriptor = openSync(place, 'a', OWNER_ONLY_FILE);
    const { ino, size } = fstatSync(this.#descriptor, { bigint: true });
    this.#inode = String(ino);
    this.#length = Number(size);
  }

  get length(): number {
    return this.#length;
  }

  append(parts: readonly Uint8Array[]): void {
    this.#checkOpen();
    let bytes = 0;
    for (const part of parts) bytes += part.length;
    let written: number;
    try {
      written = this.#write(parts, bytes);
    } catch (cause) {
      throw this.#writeError({ action: 'append to', errno: errnoOf(cause), cause });
    }
    this.#length += written;
    if (written < bytes) {
      const cause = new Error(`only ${written} of ${bytes} bytes were written`);
      throw this.#writeError({ action: 'append to', errno: 'ENOSPC', cause, outcome: 'unknown' });
    }
  }

  truncate(length: number): void {
    this.#checkOpen();
    checkCut(length, this.#length);
    try {
      ftruncateSync(this.#descriptor, length);
    } catch (cause) {
      // Whatever the reason, the tail is still in the file.
      throw this.#writeError({ action: 'truncate', errno: 'EIO', cause });
    }
    this.#length = length;
    this.#wasCut = true;
  }

  async sync(): Promise<void> {
    this.#checkOpen();
    const { failedInodes } = this.#shared;
    if (failedInodes.has(this.#inode)) throw failedEarlierSync(this.#place);
    const flush = this.#wasCut ? flushAll : flushData;
    this.#wasCut = false;
    const flushed = flush(this.#descriptor);
    this.#syncs.add(flushed);
    try {
      await flushed;
    } catch (thrown) {
      failedInodes.add(this.#inode);
      throw failedSync(this.#place, thrown);
    } finally {
      this.#syncs.delete(flushed);
    }
  }

  close(): Promise<void> {
    this.#closing ??= Promise.allSettled(this.#syncs).then(() => closeSync(this.#descriptor));
    return this.#closing;
  }

  #write(parts: readonly Uint8Array[], bytes: number): number {
    const { scratch } = this.#shared;
    if (bytes > scratch.length) {
      const gathered = parts.length > GATHERED_PARTS_MAX ? [Buffer.concat(parts)] : parts;
      return writevSync(this.#descriptor, gathered);
    }
    let end = 0;
    for (const part of parts) {
      scratch.set(part, end);
      end += part.length;
    }
    return bytes === 0 ? 0 : writeSync(this.#descriptor, scratch, 0, bytes);
  }

  #writeError(problem: Omit<FileSystemProblem, 'path'>): SynclineError {
    return writeError({ ...problem, path: this.#place });
  }

  #checkOpen(): void {
    if (this.#closing === undefined) return;
    throw new SynclineError('closed', `the append handle of ${this.#place} is closed`);
  }
}
