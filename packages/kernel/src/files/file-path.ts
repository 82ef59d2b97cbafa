// Paths of the Files port: relative to the root, separated by `/`, and never outside it.
//
// K32  A path that would leave the root is refused before the disk is used.
import { SynclineError } from '../error.js';

/** The names on the path, none for the root itself (`.` or empty). */
export function splitPath(path: string): readonly string[] {
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (path.startsWith('/') || names.includes('..') || path.includes('\0')) {
    throw new SynclineError(
      'invalid-argument',
      `the path ${JSON.stringify(path)} is outside the root. Use one below it, such as "logs/a.txt".`,
      { details: { field: 'path', path } },
    );
  }
  return names;
}
