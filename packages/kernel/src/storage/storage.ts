// Storage: an ordered store of byte keys and byte values, behind one small port.
//
// Implementations: memory, LevelDB (`openLevelStorage`) and the simulated disk in ./testing. All run
// the same conformance suite (`storageSuite`). SPEC.md, section Storage, numbers the promises K10 to K19.
import type { StorageBatch } from './storage-batch.js';

/**
 * `buffered`: passed to the operating system, survives kill -9 of this process.
 * `synced`: fsynced, survives power loss. A synced batch does not make earlier buffered ones durable; `secure` does.
 */
export type Durability = 'buffered' | 'synced';

export interface StorageEntry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

export interface RangeOptions {
  /** First key of the range, inclusive. Default: the first key there is. */
  readonly from?: Uint8Array;
  /** End of the range, exclusive. Default: beyond the last key. */
  readonly to?: Uint8Array;
  /** Highest key first. The range is still [from, to). */
  readonly reverse?: boolean;
  /** Most entries to return. Default: all. */
  readonly limit?: number;
  readonly signal?: AbortSignal;
}

/**
 * Entries in key order (bytes, unsigned, shorter first). The content is fixed when iteration starts;
 * writes made later do not show. Leaving the loop early releases its resources.
 */
export interface StorageRange extends AsyncIterable<StorageEntry> {
  /** The same entries, many at a time: for loops in which an await per entry would cost too much. */
  batches(): AsyncIterable<readonly StorageEntry[]>;
}

export interface StorageReads {
  /**
   * The value, or undefined. Synchronous; the bytes are the caller's own. Throws `corrupt` when the
   * stored checksum does not match.
   */
  get(key: Uint8Array): Uint8Array | undefined;
  range(options?: RangeOptions): StorageRange;
}

/**
 * A view of one moment. It must be closed; a store closes what is left open. A store that is reopened after a full
 * disk loses its snapshots: they fail with `unavailable`, and a new one can be taken.
 */
export interface StorageSnapshot extends StorageReads, Disposable {
  close(): void;
}

/** What a store can currently do. `/readyz` and `/healthz` show it. */
export type StorageHealth =
  | { readonly kind: 'ok' }
  /** The last write found the disk full. Reads continue, and each write checks for space first. */
  | { readonly kind: 'full'; readonly reason: string }
  /** A store that failed a write is being reopened. For these milliseconds `get` throws `unavailable`. */
  | { readonly kind: 'reopening' }
  /** The disk failed. Reads continue if possible; writes fail until the process is restarted. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'closed' };

export interface Storage extends StorageReads, AsyncDisposable {
  /**
   * Applies all of the batch or none of it, and resolves once it is as durable as requested. Writes take effect in
   * the order of their calls; when one fails, those that were queued after it fail too.
   */
  write(batch: StorageBatch, options: { readonly durability: Durability }): Promise<void>;
  /**
   * Resolves when all earlier writes survive power loss, including buffered ones. It is queued after them and fails
   * as a write does. On LevelDB it writes all of its memory to a table: meant for a stop, not for every second.
   */
  secure(): Promise<void>;
  snapshot(): StorageSnapshot;
  health(): StorageHealth;
  /**
   * Resolves immediately unless the store is reopening. Callers wait here so that `get` need not throw.
   * Rejects when there is nothing to wait for: the store was closed, or could not be reopened.
   */
  whenReadable(): Promise<void>;
  /** Waits for writes in flight, then frees everything. A second call does nothing. */
  close(): Promise<void>;
}
