// The subject of the files suite: files, and ways to make their disk fail.
import type { Files } from '../files/files.js';

export interface FilesSubject {
  /** An empty root. */
  readonly files: Files;
  /** Makes an append of 1 MiB fail for lack of space. Needed for `canFillDisk`. */
  fillDisk?(): Promise<void>;
  freeDisk?(): Promise<void>;
  /** From now on every sync fails. Needed for `canBreakDisk`. */
  breakDisk?(): Promise<void>;
}

export interface FilesAbilities {
  /** Default false. */
  readonly canFillDisk?: boolean;
  /** Default false: few can break a real disk. */
  readonly canBreakDisk?: boolean;
}
