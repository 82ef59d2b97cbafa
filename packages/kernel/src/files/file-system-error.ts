// What the file system said, as a SynclineError: which path, why, and what to do about it.
//
// One table for all who touch files, so that a full disk or a read-only mount reads the same everywhere.
import { type ErrorCode, type Outcome, SynclineError } from '../error.js';

export interface FileSystemProblem {
  /** What was tried, in words that follow "cannot": `open the store in`, `append to`. */
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
  EDQUOT: noRoom('the disk quota is used up'),
  ENOENT: {
    code: 'not-found',
    reason: 'there is nothing at this path',
    nextStep: 'Check its name',
  },
  ENOTDIR: wrongPath('a part of the path is a file, not a directory'),
  EISDIR: wrongPath('it is a directory'),
  ENAMETOOLONG: wrongPath('the name is too long'),
  ELOOP: wrongPath('its symbolic links lead in a circle'),
  EINVAL: wrongPath('the file system does not allow this'),
  EROFS: wrongPath('the file system is read-only', 'Mount it writable, or choose another path'),
  EACCES: wrongPath('permission denied', 'Grant this user access, or choose another path'),
  EPERM: wrongPath('not permitted', 'Grant this user access, or choose another path'),
  EEXIST: { code: 'conflict', reason: 'something is there already', nextStep: CHOOSE_ANOTHER },
  ENOTEMPTY: { code: 'conflict', reason: 'the directory is not empty', nextStep: 'Empty it first' },
  EMFILE: tooManyFiles('this process has too many open files'),
  ENFILE: tooManyFiles('the system has too many open files'),
  EIO: failed('input/output error'),
};

function noRoom(reason: string): Meaning {
  return { code: 'storage-full', reason, nextStep: 'Free some space, then try again' };
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

/** The name of a Node error, such as `ENOENT`. */
export function errnoOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
