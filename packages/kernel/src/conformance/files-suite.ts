// The contract of every implementation of Files: the system's, the simulated one, and yours.
//
// The guarantees are K30 to K34 of SPEC.md. The effects of a power loss can only be tested on the
// simulated disk.
import { type ConformanceCase, casesFor } from './conformance-case.js';
import { failedSyncCases, fileContentCases, fullDiskFileCases } from './files-content-cases.js';
import {
  failedHandleSyncCases,
  fileHandleCases,
  fullDiskHandleCases,
} from './files-handle-cases.js';
import { fileNameCases } from './files-name-cases.js';
import type { FilesAbilities, FilesSubject } from './files-subject.js';

/** `create` is called once per case, and its result is disposed of afterwards. */
export function filesSuite(
  create: () => Promise<FilesSubject & AsyncDisposable>,
  abilities: FilesAbilities = {},
): readonly ConformanceCase[] {
  return casesFor(create, {
    ...fileContentCases,
    ...fileHandleCases,
    ...fileNameCases,
    ...(abilities.canFillDisk && { ...fullDiskFileCases, ...fullDiskHandleCases }),
    ...(abilities.canBreakDisk && { ...failedSyncCases, ...failedHandleSyncCases }),
  });
}
