// What every Files keeps: the system's, the simulated disk, and yours.
//
// The promises are K30 to K32 of SPEC.md. What a loss of power leaves is for the simulated disk to show.
import type { Files } from '../files/files.js';
import { type ConformanceCase, casesFor } from './conformance-case.js';
import { fileContentCases } from './files-content-cases.js';
import { fileNameCases } from './files-name-cases.js';

export interface FilesSubject {
  /** An empty root. */
  readonly files: Files;
}

/** `create` is called once per case, and what it made is disposed of after it. */
export function filesSuite(
  create: () => Promise<FilesSubject & AsyncDisposable>,
): readonly ConformanceCase[] {
  return casesFor(create, { ...fileContentCases, ...fileNameCases });
}
