// Errors of a simulated disk, in the words of the real file system.
import type { Outcome, SynclineError } from '../../error.js';
import {
  type FileSystemProblem,
  fileSystemError,
  writeError,
} from '../../files/file-system-error.js';
import type { Verdict } from './disk-plan.js';
import type { TreeNode } from './file-node.js';

type Errno = 'EIO' | 'EISDIR' | 'EINVAL' | 'EMFILE' | 'ENOENT' | 'ENOSPC' | 'ENOTDIR' | 'ENOTEMPTY';

interface Attempt {
  /** As in FileSystemProblem. */
  readonly action: string;
  readonly path: string;
  readonly outcome?: Outcome;
}

export function simulatedError(errno: Errno, attempt: Attempt): SynclineError {
  return fileSystemError(problem(errno, attempt));
}

/** For an open file, whose disk is either full or failing. */
export function simulatedWriteError(verdict: Verdict, attempt: Attempt): SynclineError {
  return writeError(problem(verdict === 'full' ? 'ENOSPC' : 'EIO', attempt));
}

/** A failed sync is final: what was changed since the last one is unknown from then on. */
export function checkSync(path: string, node: TreeNode, verdict: Verdict): void {
  if (verdict === 'ok' && !node.hasFailed) return;
  node.hasFailed = true;
  throw simulatedError('EIO', { action: 'sync', path, outcome: 'unknown' });
}

function problem(errno: Errno, attempt: Attempt): FileSystemProblem {
  return { ...attempt, errno, cause: new Error(`${errno} (simulated)`) };
}
