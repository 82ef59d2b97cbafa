// What every Files keeps: the system's, the simulated disk, and yours.
//
// The promises are K30 to K33 of SPEC.md. What a loss of power leaves is for the simulated disk to show.
import { type ConformanceCase, casesFor } from './conformance-case.js';
import { failedSyncCases, fileContentCases, fullDiskFileCases } from './files-content-cases.js';
import { fileNameCases } from './files-name-cases.js';
import type { FilesAbilities, FilesSubject } from './files-subject.js';

/** `create` is called once per case, and what it made is disposed of after it. */
export function filesSuite(
  create: () => Promise<FilesSubject & AsyncDisposable>,
  abilities: FilesAbilities = {},
): readonly ConformanceCase[] {
  return casesFor(create, {
    ...fileContentCases,
    ...fileNameCases,
    ...(abilities.canFillDisk && fullDiskFileCases),
    ...(abilities.canBreakDisk && failedSyncCases),
  });
}
