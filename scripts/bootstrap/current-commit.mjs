// The commit that a measurement or a failure belongs to.
import { execFileSync } from 'node:child_process';
import { root } from './root.mjs';

/** Such as `1cad289`, or `1cad289 with changes`. */
export function currentCommit() {
  try {
    const git = (/** @type {string[]} */ ...args) =>
      execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: 'pipe' }).trim();
    const isDirty = git('status', '--porcelain', '--untracked-files=no') !== '';
    return git('rev-parse', '--short', 'HEAD') + (isDirty ? ' with changes' : '');
  } catch {
    return 'unknown'; // not a checkout
  }
}
