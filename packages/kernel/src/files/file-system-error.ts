// Errors of the file system as SynclineErrors: which path, why, and what to do about it.
//
// Everything that touches files shares one table, so a full disk or a read-only mount reads the same
// everywhere.
import { type ErrorCode, type Outcome, SynclineError } from '../error.js';

export interface FileSystemProblem {
  /** What was attempted, in words that follow "cannot": `open the store in`, `append to`. */
  readonly action: string;
  readonly path: string;
  /** The error's name, such as `ENOSPC`; undefined when it is not known. */
  readonly errno: string | undefined;
  readonly cause: unknown;
  readonly outcome?: Outcome;
}

interface Meaning {
  readonly code: ErrorCode;
  readonly reason: string;
  readonly nextStep: string;
}

const CHOOSE_ANOTHER = 'Choose another path';

const MEANINGS: Readonly<Record<string, Meaning>> = {
  ENOSPC: noRoom('no space left on the device'),
  EDQUOT: noRoom('the disk quota is exceeded'),
  EFBIG: noRoom('the file has reached the maximum size', 'Raise the file size limit (ulimit -f)'),
  ENOENT: {
    code: 'not-found',
    reason: 'no such file or directory',
    nextStep: 'Check its name',
  },
  ENOTDIR: wrongPath('part of the path is a file, not a directory'),
  EISDIR: wrongPath('it is a directory'),
  ESPIPE: wrongPath('it is a pipe or a device, not a file'),
  ENAMETOOLONG: wrongPath('the name is too long'),
  ELOOP: wrongPath('its symbolic links form a loop'),
  EINVAL: wrongPath('the file system does not allow this'),
  EROFS: wrongPath('the file system is read-only', 'Mount it writable, or choose another path'),
  EACCES: wrongPath('permission denied', 'Grant this user access, or choose another path'),
  EPERM: wrongPath('not permitted', 'Grant this user access, or choose another path'),
  EEXIST: { code: 'conflict', reason: 'it already exists', nextStep: CHOOSE_ANOTHER },
  ENOTEMPTY: { code: 'conflict', reason: 'the directory is not empty', nextStep: 'Empty it first' },
  EMFILE: tooManyFiles('this process has too many open files'),
  ENFILE: tooManyFiles('the system has too many open files'),
  EIO: failed('input/output error'),
};

function noRoom(reason: string, nextStep = 'Free some space, then try again'): Meaning {
  return { code: 'storage-full', reason, nextStep };
}

function wrongPath(reason: string, nextStep = CHOOSE_ANOTHER): Meaning {
  return { code: 'invalid-argument', reason, nextStep };
}

function tooManyFiles(reason: string): Meaning {
  return { code: 'unavailable', reason, nextStep: 'Raise the limit (ulimit -n)' };
}

function failed(reason: string): Meaning {
  return { code: 'storage-failed', reason, nextStep: "Check the disk and the system's log" };
}

export function fileSystemError(problem: FileSystemProblem): SynclineError {
  const { action, path, errno, cause, outcome = 'not-applied' } = problem;
  const known = errno === undefined ? undefined : MEANINGS[errno];
  const { code, reason, nextStep } = known ?? failed(messageOf(cause));
  return new SynclineError(code, `cannot ${action} ${path}: ${reason}. ${nextStep}.`, {
    outcome,
    cause,
    details: {
      path,
      ...(errno && { errno }),
      ...(code === 'invalid-argument' && { field: 'path' }),
    },
  });
}

/**
 * A failed write or cut of an open file. Its path was accepted when it was opened, so the disk is either
 * full or failing; in the second case nothing is known about what it has written.
 */
export function writeError(problem: FileSystemProblem): SynclineError {
  const error = fileSystemError(problem);
  if (error.code === 'storage-full') return error;
  const { message, details, cause } = error;
  return new SynclineError('storage-failed', message, { outcome: 'unknown', details, cause });
}

/** What was written since the last sync may be lost, and no later sync can show it. */
export function failedSync(path: string, cause: unknown): SynclineError {
  return new SynclineError(
    'storage-failed',
    `cannot sync ${path}: ${messageOf(cause)}. What was written since its last sync may be lost. ` +
      "Check the disk and the system's log, then restart the process.",
    { outcome: 'unknown', details: { path }, cause },
  );
}

/** Linux reports a lost write only once, so a sync after a failed one proves nothing. */
export function failedEarlierSync(path: string): SynclineError {
  return new SynclineError(
    'storage-failed',
    `cannot sync ${path}: an earlier sync failed, and the data it lost cannot be recovered. ` +
      'Restart the process and check the file.',
    { outcome: 'unknown', details: { path } },
  );
}

/** For lack of space or descriptors; another attempt may succeed. */
export function isTemporary(thrown: unknown): boolean {
  if (!(thrown instanceof SynclineError)) return false;
  return thrown.code === 'storage-full' || thrown.code === 'unavailable';
}

/** The name of a Node error, such as `ENOENT`. */
export function errnoOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
