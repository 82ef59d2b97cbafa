// Files: for data that is kept in files rather than in the store (logs, checkpoints, savepoints).
//
// Paths are relative to the root of the implementation and use `/`; a path that leaves the root is
// `invalid-argument`. Nothing is durable before its `sync`, and a new name, a rename or a removal is not durable
// before `syncDir` of its directory. Files are created for their owner only (mode 0600, directories 0700).

export interface FileStat {
  readonly kind: 'file' | 'directory';
  readonly bytes: number;
  /** Stays the same when the file is renamed. A string, because inodes exceed 2^53. */
  readonly inode: string;
  readonly modifiedMs: number;
}

export interface Files {
  /** Up to `length` bytes from `offset`; fewer at the end of the file, none beyond it. */
  readAt(path: string, offset: number, length: number): Promise<Uint8Array>;
  /**
   * Appends, creating the file if needed. A failed append may leave a prefix: its outcome is then
   * `unknown`, and `stat` shows how much was written. Calls for one file must not overlap.
   */
  append(path: string, bytes: Uint8Array): Promise<void>;
  /**
   * Opens a file for synchronous appends, creating it if needed; the new name is not durable before
   * `syncDir`. Throws `unavailable` when the process or the system has no file descriptor left.
   */
  openAppend(path: string): AppendHandle;
  /** Makes the content durable. An error is final: what was appended since the last sync is unknown. */
  sync(path: string): Promise<void>;
  /** Replaces `to` if it exists; atomic. */
  rename(from: string, to: string): Promise<void>;
  /** Makes the names in a directory durable. */
  syncDir(path: string): Promise<void>;
  /** Names in a directory, sorted by bytes. */
  list(path: string): Promise<readonly string[]>;
  /** Undefined when there is nothing at the path. */
  stat(path: string): Promise<FileStat | undefined>;
  /** Removes a file or an empty directory; `not-found` when there is none. */
  remove(path: string): Promise<void>;
  /** Creates a directory and its parents; resolves if it exists already. */
  makeDir(path: string): Promise<void>;
}

/**
 * A file held open for appending, for writers that must not wait: `append` and `truncate` return once the operating
 * system has accepted the change, which then survives kill -9 and, after `sync`, power loss.
 */
export interface AppendHandle {
  readonly path: string;
  /** Bytes in the file, as far as this handle knows. */
  readonly length: number;
  /**
   * Adds all parts to the end with one write; the caller may reuse the bytes afterwards. Throws `storage-full` when
   * the disk is full: if its outcome is `unknown`, a prefix may be in the file and must be truncated before the next
   * append. Every other error is `storage-failed`.
   */
  append(parts: readonly Uint8Array[]): void;
  /** Truncates the file to `length`, which is at most its current length. Not durable before `sync`. */
  truncate(length: number): void;
  /** Makes every earlier append and truncation durable. An error is final for the file, as with `Files.sync`. */
  sync(): Promise<void>;
  /** Waits for syncs in flight. What was not synced is left to the operating system. */
  close(): Promise<void>;
}
