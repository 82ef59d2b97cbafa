// The contract of every Storage: memory, LevelDB, the simulated disk, and yours.
//
// The guarantees are K10 to K17 of SPEC.md, one file per group. Cases wait on nothing but the store
// itself, so that a simulation can run them at its own pace.
import { type ConformanceCase, casesFor } from './conformance-case.js';
import { bytesCases } from './storage-bytes-cases.js';
import { closeCases } from './storage-close-cases.js';
import { failedDiskCases } from './storage-failed-disk-cases.js';
import { fullDiskCases } from './storage-full-disk-cases.js';
import { persistenceCases } from './storage-persistence-cases.js';
import { rangeCases } from './storage-range-cases.js';
import { snapshotCases } from './storage-snapshot-cases.js';
import type { StorageAbilities, StorageSubject } from './storage-subject.js';
import { writeCases } from './storage-write-cases.js';

/** `create` is called once per case, and its result is disposed of afterwards. */
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
