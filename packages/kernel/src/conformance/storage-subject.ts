// What the storage suite is given: a store, and what can be done to it from outside.
import type { Storage } from '../storage/storage.js';

export interface StorageSubject {
  /** An empty store. */
  readonly storage: Storage;
  /** Opens the store again after it was closed. Needed for `isPersistent`. */
  reopen?(): Promise<Storage>;
  /** Makes writes of 64 KiB fail for want of room. Needed for `canFillDisk`. */
  fillDisk?(): Promise<void>;
  freeDisk?(): Promise<void>;
  /** From now on every sync fails. Needed for `canBreakDisk`. */
  breakDisk?(): Promise<void>;
}

export interface StorageAbilities {
  /** What was written is there after a close and a reopening. */
  readonly isPersistent: boolean;
  readonly canFillDisk: boolean;
  /** Default false: few can break a real disk. */
  readonly canBreakDisk?: boolean;
}
