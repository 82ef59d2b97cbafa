// `owner.json` names the process that uses a directory, for people and error messages only.
//
// The actual lock is LevelDB's, which the system releases when its holder dies and which also works between
// containers that share a disk. It does not identify its holder, so the holder writes this file beside it. A
// file that outlived its process therefore does no harm: the next one takes the lock and replaces it.
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../clock.js';
import { errnoOf } from '../files/file-system-error.js';
import { kernelLimits } from '../limits.js';

export interface DirectoryOwner {
  readonly pid: number;
  readonly host: string;
  /** When it took the directory, as ISO 8601 in UTC. */
  readonly startedAt: string;
}

const OWNER_FILE = 'owner.json';
const READ_PAUSE_MS = 20;

export function thisProcess(clock: Clock): DirectoryOwner {
  const startedAt = new Date(clock.nowMs()).toISOString();
  return { pid: process.pid, host: hostname(), startedAt };
}

/** Only the holder of the lock writes, so the name of the new file need not be unique. */
export async function writeOwner(directory: string, owner: DirectoryOwner): Promise<void> {
  const path = join(directory, OWNER_FILE);
  await writeFile(`${path}.tmp`, `${JSON.stringify(owner)}\n`);
  await rename(`${path}.tmp`, path);
}

/**
 * Removes the file if it names `owner`. It may name another: a directory that was deleted under its holder
 * can be created and held again meanwhile. Never fails: on a broken disk the name stays, which misleads no one
 * once the lock is free.
 */
export async function removeOwner(directory: string, owner: DirectoryOwner): Promise<void> {
  if (!isDeepStrictEqual(await readOwner(directory), owner)) return;
  await rm(join(directory, OWNER_FILE), { force: true }).catch(() => {});
}

/** The owner in the file, or undefined if it cannot be read. */
async function readOwner(directory: string): Promise<DirectoryOwner | undefined> {
  try {
    return parseOwner(await readFile(join(directory, OWNER_FILE), 'utf8'));
  } catch (thrown) {
    if (errnoOf(thrown) !== undefined) return undefined;
    throw thrown;
  }
}

/**
 * The holder of the lock that we did not get. It may have just taken the lock and not written its name yet:
 * then the file is missing, or still names a process that is gone, and we read it again for a while. A process
 * in another container may seem gone as well, so finally we report whatever the file says.
 */
export async function findHolder(
  clock: Clock,
  directory: string,
): Promise<DirectoryOwner | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const owner = await readOwner(directory);
    if (owner && !isGone(owner)) return owner;
    if (attempt >= kernelLimits.ownerReadAttemptsMax.value) return owner;
    await clock.sleep(READ_PAUSE_MS);
  }
}

/** Unknown for a process on another host, or of another user. */
function isGone(owner: DirectoryOwner): boolean {
  if (owner.host !== hostname()) return false;
  try {
    process.kill(owner.pid, 0);
    return false;
  } catch (thrown) {
    return errnoOf(thrown) === 'ESRCH';
  }
}

function parseOwner(text: string): DirectoryOwner | undefined {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null) return undefined;
  const { pid, host, startedAt } = value as Readonly<Record<string, unknown>>;
  const isComplete =
    Number.isSafeInteger(pid) && typeof host === 'string' && typeof startedAt === 'string';
  return isComplete ? { pid: pid as number, host, startedAt } : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // damaged, or incompletely written by hand
  }
}
