// The subject of the storage suite: a store, and what can happen to it from outside.
import type { Storage } from '../storage/storage.js';

export interface StorageSubject {
  /** An empty store. */
  readonly storage: Storage;
  /** Opens the store again after it was closed. Needed for `isPersistent`. */
  reopen?(): Promise<Storage>;
  /** Makes writes of 64 KiB fail for lack of space. Needed for `canFillDisk`. */
  fillDisk?(): Promise<void>;
  freeDisk?(): Promise<void>;
  /** From now on every sync fails. Needed for `canBreakDisk`. */
  breakDisk?(): Promise<void>;
}

export interface StorageAbilities {
  /** Writes survive closing and reopening. */
  readonly isPersistent: boolean;
  readonly canFillDisk: boolean;
  /** Default false: few can break a real disk. */
  readonly canBreakDisk?: boolean;
}
