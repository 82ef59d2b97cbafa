// One bootstrap at a time. Two `npm ci` in one checkout delete each other's files, so the second
// start waits for the first and then finds nothing left to do.
//
// The lock is a file that holds its owner's pid. It is made whole under another name and linked into
// place: nobody can read it half written. A lock whose owner is gone is taken over.
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cacheDirectory } from './root.mjs';
import { say } from './say.mjs';

const pollMs = 200;

/**
 * @template T
 * @param {() => Promise<T>} work
 * @param {string} [lockPath]
 * @returns {Promise<T>}
 */
export async function withBootstrapLock(work, lockPath = join(cacheDirectory, 'bootstrap.lock')) {
  await takeLock(lockPath);
  const release = () => rmSync(lockPath, { force: true });
  process.once('exit', release);
  try {
    return await work();
  } finally {
    process.off('exit', release);
    release();
  }
}

/** @param {string} lockPath */
async function takeLock(lockPath) {
  mkdirSync(dirname(lockPath), { recursive: true });
  let hasSpoken = false;
  while (!tryLock(lockPath)) {
    const holder = readHolder(lockPath);
    if (holder === undefined) continue;
    if (!isAlive(holder)) {
      rmSync(lockPath, { force: true });
      continue;
    }
    if (!hasSpoken) say(`Waiting for process ${holder}, which installs or builds here already …`);
    hasSpoken = true;
    await sleep(pollMs);
  }
}

/** @param {string} lockPath */
function tryLock(lockPath) {
  const draft = `${lockPath}.${process.pid}`;
  writeFileSync(draft, String(process.pid));
  try {
    linkSync(draft, lockPath);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * @param {string} lockPath
 * @returns {number | undefined} Nothing when the lock was released meanwhile.
 */
function readHolder(lockPath) {
  try {
    return Number(readFileSync(lockPath, 'utf8'));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** @param {unknown} error */
function errorCode(error) {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
