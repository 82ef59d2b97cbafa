// Installs what package-lock.json names and node_modules lacks. npm writes the list of installed packages last,
// so comparing the two lists also detects an interrupted install, and ignores what a developer installed
// manually.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './root.mjs';
import { runStep } from './step.mjs';

/** @typedef {{ version?: string, link?: boolean, optional?: boolean }} LockEntry */
/** @typedef {{ packages: Record<string, LockEntry> }} Lockfile */

export async function ensureInstalled() {
  const installedPath = join(root, 'node_modules/.package-lock.json');
  const wanted = readLockfile(join(root, 'package-lock.json'));
  const installed = existsSync(installedPath) ? readLockfile(installedPath) : { packages: {} };
  const missing = missingPackages(wanted, installed);
  if (missing.length === 0) return;
  await runStep({
    name: 'install',
    title: `Installing ${missing.length} missing packages (npm ci), about a minute the first time …`,
    command: 'npm',
    args: ['ci', '--no-progress'],
    hint: 'The package registry may be unreachable, or the disk full. Fix that and run the command again.',
  });
}

/**
 * What must be installed and is not. Optional packages are builds for other platforms.
 *
 * @param {Lockfile} wanted
 * @param {Lockfile} installed
 */
export function missingPackages(wanted, installed) {
  return Object.entries(wanted.packages)
    .filter(([path, entry]) => path.includes('node_modules/') && entry.optional !== true)
    .filter(([path, entry]) => {
      const found = installed.packages[path];
      return found === undefined || found.version !== entry.version || found.link !== entry.link;
    })
    .map(([path]) => path);
}

/**
 * @param {string} path
 * @returns {Lockfile}
 */
function readLockfile(path) {
  return /** @type {Lockfile} */ (JSON.parse(readFileSync(path, 'utf8')));
}
