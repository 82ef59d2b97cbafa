// LevelDB's errors as SynclineErrors. They have no numbers, only text: `IO error: FILE: REASON`, where REASON is the
// C library's message, which this file turns back into the error's name.
//
// LevelDB only reports corruption if a checksum or a format is wrong. It reports a missing or truncated file of the
// store as an IO error, though that is damage too, and the remedy is the same.
//
// K16  A full disk is `storage-full`: nothing was applied, and writing resumes once there is space.
// K17  Any other error of a write is `storage-failed`, final, with an unknown outcome.
import { SynclineError } from '../error.js';
import { errnoOf, fileSystemError } from '../files/file-system-error.js';

/** As worded by glibc, musl and macOS. */
const ERRNO_TEXTS: readonly (readonly [RegExp, string])[] = [
  [/no space left on device/i, 'ENOSPC'],
  [/quota exceeded/i, 'EDQUOT'],
  [/read-only file system/i, 'EROFS'],
  [/permission denied/i, 'EACCES'],
  [/operation not permitted/i, 'EPERM'],
  [/not a directory/i, 'ENOTDIR'],
  [/is a directory/i, 'EISDIR'],
  [/no such file or directory/i, 'ENOENT'],
  [/(file ?name|filename) too long/i, 'ENAMETOOLONG'],
  [/too many open files in system/i, 'ENFILE'],
  [/(too many open files|no file descriptors available)/i, 'EMFILE'],
  [/(input\/output|i\/o) error/i, 'EIO'],
];

/** A missing manifest or table, and a table that ends early. A missing LOCK is a missing directory. */
const DAMAGE_TEXT = /(?<!\/LOCK): no such file or directory$|\.(ldb|sst): invalid argument$/i;

/** The name of the system error in a message of LevelDB, such as `ENOSPC`. */
export function errnoOfLevelText(message: string): string | undefined {
  const reason = message.slice(message.lastIndexOf(': ') + 2);
  return ERRNO_TEXTS.find(([text]) => text.test(reason))?.[1];
}

/** True when a write or an opening failed for lack of space. */
export function isNoRoom(thrown: unknown): boolean {
  const errno = errnoOfLevelText(rootOf(thrown).message);
  return errno === 'ENOSPC' || errno === 'EDQUOT';
}

export function levelOpenError(thrown: unknown, directory: string): SynclineError {
  if (thrown instanceof SynclineError) return thrown;
  const root = rootOf(thrown);
  const code = errnoOf(root);
  if (code === 'LEVEL_LOCKED' && !/no locks available/i.test(root.message)) {
    return new SynclineError('locked', `${directory} is in use`, { cause: thrown });
  }
  if (isDamage(root)) return corruptStore(root, directory);
  const isLevel = code === undefined || code.startsWith('LEVEL_');
  const errno = isLevel ? errnoOfLevelText(root.message) : code;
  return fileSystemError({ action: 'open the store in', path: directory, errno, cause: root });
}

export function levelReadError(thrown: unknown, directory: string): SynclineError {
  const root = rootOf(thrown);
  const code = errnoOf(root);
  if (isDamage(root)) return corruptStore(root, directory);
  if (code === 'LEVEL_SNAPSHOT_NOT_OPEN')
    return new SynclineError('closed', 'the snapshot was closed');
  const errno = errnoOfLevelText(root.message);
  if (isOutOfFiles(errno)) {
    return fileSystemError({ action: 'read from', path: directory, errno, cause: root });
  }
  return new SynclineError('storage-failed', `cannot read from ${directory}: ${root.message}`, {
    details: { directory },
    cause: thrown,
  });
}

/**
 * For everything but a full disk. What the failed write left on disk is unknown. A lack of file descriptors is
 * final too: reopening without them does not help, since LevelDB drops a log that it cannot open.
 */
export function levelWriteError(thrown: unknown, directory: string): SynclineError {
  const { message } = rootOf(thrown);
  const remedy = isOutOfFiles(errnoOfLevelText(message))
    ? 'Raise the limit of open files (ulimit -n)'
    : "Check the disk and the system's log";
  return new SynclineError(
    'storage-failed',
    `cannot write to ${directory}: ${message}. This store accepts no more writes; reads continue. ` +
      `${remedy}, then restart the process.`,
    { outcome: 'unknown', details: { directory }, cause: thrown },
  );
}

export function corruptStore(root: Error, directory: string): SynclineError {
  return new SynclineError(
    'corrupt',
    `the store in ${directory} is damaged (${root.message}). ` +
      'Restore the directory from a backup.',
    { details: { directory }, cause: root },
  );
}

function isOutOfFiles(errno: string | undefined): boolean {
  return errno === 'EMFILE' || errno === 'ENFILE';
}

function isDamage(root: Error): boolean {
  return errnoOf(root) === 'LEVEL_CORRUPTION' || DAMAGE_TEXT.test(root.message);
}

/** LevelDB's own error: classic-level wraps errors that occur while it opens. */
function rootOf(thrown: unknown): Error {
  if (!(thrown instanceof Error)) return new Error(String(thrown));
  return thrown.cause instanceof Error ? rootOf(thrown.cause) : thrown;
}
