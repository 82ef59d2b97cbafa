// The files of a segment log that are not durable yet: written ones, full ones, and the names of new ones.
//
// Only one sync runs at a time. Changes made in the meantime are left to the next one.
import type { AppendHandle, Files } from '../files/files.js';

export class UnsyncedFiles {
  readonly #files: Files;
  readonly #directory: string;
  /** Full and no longer written: closed once they are synced. */
  #full: AppendHandle[] = [];
  #changed: AppendHandle | undefined;
  /** A new segment whose first write found the disk full: an empty file that must not stay. */
  #leftover: AppendHandle | undefined;
  #hasNewNames = false;
  /**
   * The first segment of the log is not durable yet, because the disk was full when the log was opened. A power loss
   * must not keep a second one and lose the first.
   */
  isBeginningNew = false;

  constructor(files: Files, directory: string) {
    this.#files = files;
    this.#directory = directory;
  }

  get fullCount(): number {
    return this.#full.length;
  }

  get leftover(): AppendHandle | undefined {
    return this.#leftover;
  }

  /** The current segment was written or cut. */
  changed(handle: AppendHandle): void {
    this.#changed = handle;
  }

  /** The first record of this segment is being written. While it fails, the file is left over. */
  starting(handle: AppendHandle): void {
    this.#leftover = handle;
  }

  /** The new segment has its first record; `full` is the one before it. */
  started(handle: AppendHandle, full: AppendHandle | undefined): void {
    this.#leftover = undefined;
    this.#changed = handle;
    this.#hasNewNames = true;
    if (full !== undefined) this.#full.push(full);
    else this.isBeginningNew = true;
  }

  /**
   * Makes everything so far durable. Throws `unavailable` when there is no descriptor to sync the directory; the
   * next sync tries again. Any other error is final.
   */
  async sync(): Promise<void> {
    const full = [...this.#full];
    const changed = this.#changed;
    const { isBeginningNew } = this;
    this.#changed = undefined;
    const handles = changed === undefined ? full : [...full, changed];
    await Promise.all(handles.map((handle) => handle.sync()));
    await this.#syncNames();
    if (isBeginningNew) this.isBeginningNew = false;
    this.#full = this.#full.slice(full.length);
    await Promise.allSettled(full.map((handle) => handle.close()));
  }

  /** A leftover file would end the log at the next start. While the log is empty it is kept for the first record. */
  async removeLeftover(): Promise<void> {
    const leftover = this.#leftover;
    if (leftover === undefined) return;
    await leftover.sync(); // without the part of a record that it may contain
    await this.#files.remove(leftover.path);
    this.#leftover = undefined;
    this.#hasNewNames = true;
    await leftover.close();
    await this.#syncNames();
  }

  async close(): Promise<void> {
    const handles = [...this.#full, this.#leftover];
    await Promise.allSettled(handles.map(async (handle) => handle?.close()));
  }

  async #syncNames(): Promise<void> {
    if (!this.#hasNewNames) return;
    this.#hasNewNames = false;
    try {
      await this.#files.syncDir(this.#directory);
    } catch (thrown) {
      this.#hasNewNames = true;
      throw thrown;
    }
  }
}
