// The promises that every implementation of Files keeps: the system's, the simulated one, and yours.
//
// They are K30 to K34 of SPEC.md. What a loss of power leaves can only be tested on the simulated disk.
import { type ConformanceCase, casesFor } from './conformance-case.js';
import { failedSyncCases, fileContentCases, fullDiskFileCases } from './files-content-cases.js';
import {
  failedHandleSyncCases,
  fileHandleCases,
  fullDiskHandleCases,
} from './files-handle-cases.js';
import { fileNameCases } from './files-name-cases.js';
import type { FilesAbilities, FilesSubject } from './files-subject.js';

/** `create` is called once per case, and what it made is disposed of after it. */
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
