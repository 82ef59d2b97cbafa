// What every Storage keeps: memory, LevelDB, the simulated disk, and yours.
//
// The promises are K10 to K17 of SPEC.md, one file per group. Cases wait on nothing but the store
// itself, so that a simulation can run them at its own pace.
import type { Storage } from '../storage/storage.js';
import { type ConformanceCase, casesFor } from './conformance-case.js';
import { bytesCases } from './storage-bytes-cases.js';
import { closeCases } from './storage-close-cases.js';
import { failedDiskCases } from './storage-failed-disk-cases.js';
import { fullDiskCases } from './storage-full-disk-cases.js';
import { persistenceCases } from './storage-persistence-cases.js';
import { rangeCases } from './storage-range-cases.js';
import { snapshotCases } from './storage-snapshot-cases.js';
import { writeCases } from './storage-write-cases.js';

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

/** `create` is called once per case, and what it made is disposed of after it. */
export function storageSuite(
  create: () => Promise<StorageSubject & AsyncDisposable>,
  abilities: StorageAbilities,
): readonly ConformanceCase[] {
  return casesFor(create, {
    ...writeCases,
    ...rangeCases,
    ...snapshotCases,
    ...bytesCases,
    ...closeCases,
    ...(abilities.isPersistent && persistenceCases),
    ...(abilities.canFillDisk && fullDiskCases),
    ...(abilities.canBreakDisk && failedDiskCases),
  });
}
