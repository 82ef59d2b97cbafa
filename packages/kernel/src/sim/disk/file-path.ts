// Paths of the Files port: relative to the root, with `/`, and never out of it.
import { SynclineError } from '../../error.js';

/** The names on the way. None for the root itself, which is `.` or empty. */
export function splitPath(path: string): readonly string[] {
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (path.startsWith('/') || names.includes('..') || path.includes('\0')) {
    throw new SynclineError('invalid-argument', `the path ${path} leaves the root`, {
      details: { field: 'path', path },
    });
  }
  return names;
}
