// What the files suite is given: files, and what can be done to their disk from outside.
import type { Files } from '../files/files.js';

export interface FilesSubject {
  /** An empty root. */
  readonly files: Files;
  /** From now on every sync fails. Needed for `canBreakDisk`. */
  breakDisk?(): Promise<void>;
}

export interface FilesAbilities {
  /** Default false: few can break a real disk. */
  readonly canBreakDisk?: boolean;
}
