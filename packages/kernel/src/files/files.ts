// Files: what lives in files rather than in the store (logs that users read, sinks, savepoints).
//
// Paths are relative to the root that the implementation was made for and use `/`; a path that leaves
// the root is `invalid-argument`. Nothing is durable before its `sync`, and a new name, a rename or a
// removal is not durable before `syncDir` of its directory.

export interface FileStat {
  readonly kind: 'file' | 'directory';
  readonly bytes: number;
  /** Stays the same when the file is renamed. A string, because inodes pass 2^53. */
  readonly inode: string;
  readonly modifiedMs: number;
}

export interface Files {
  /** Up to `length` bytes from `offset`; fewer at the end of the file, none beyond it. */
  readAt(path: string, offset: number, length: number): Promise<Uint8Array>;
  /**
   * Appends, creating the file if needed. A failed append may leave a prefix: its outcome is then
   * `unknown`, and `stat` tells. Calls for one file must not overlap.
   */
  append(path: string, bytes: Uint8Array): Promise<void>;
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
  /** Creates a directory and its parents; fine if it is there. */
  makeDir(path: string): Promise<void>;
}
