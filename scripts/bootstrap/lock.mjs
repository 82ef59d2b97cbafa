// One bootstrap at a time. Two `npm ci` in one checkout delete each other's files, so the second
// start waits for the first and then finds nothing left to do.
//
// The lock is a file that holds its owner's pid and a word of its own. It is written under another name and
// linked into place, so it is never read half written. Its owner touches it while it works. A lock whose owner
// is gone is taken over, and so is one that is not touched: its pid may have been reused.
import { randomUUID } from 'node:crypto';
import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cacheDirectory } from './root.mjs';
import { say } from './say.mjs';

const pollMs = 200;

/** A lock that was not touched for this long has no owner. A live owner touches it ten times in that time. */
const untouchedMsMax = 30_000;

/**
 * @template T
 * @param {() => Promise<T>} work
 * @param {string} [lockPath]
 * @param {{ untouchedMs?: number }} [options]
 * @returns {Promise<T>}
 */
export async function withBootstrapLock(
  work,
  lockPath = join(cacheDirectory, 'bootstrap.lock'),
  { untouchedMs = untouchedMsMax } = {},
) {
  const mark = `${process.pid} ${randomUUID()}`;
  await takeLock(lockPath, mark, untouchedMs);
  const touches = setInterval(() => touch(lockPath, mark), untouchedMs / 10).unref();
  const release = () => {
    clearInterval(touches);
    if (readLock(lockPath)?.mark === mark) rmSync(lockPath, { force: true });
  };
  process.once('exit', release);
  try {
    return await work();
  } finally {
    process.off('exit', release);
    release();
  }
}

/**
 * Time is counted in polls, not read from a clock, so that it stops while the machine sleeps.
 *
 * @param {string} lockPath
 * @param {string} mark
 * @param {number} untouchedMs
 */
async function takeLock(lockPath, mark, untouchedMs) {
  mkdirSync(dirname(lockPath), { recursive: true });
  let hasSpoken = false;
  let seen = '';
  let unchangedMs = 0;
  while (!tryLock(lockPath, mark)) {
    const lock = readLock(lockPath);
    if (lock === undefined) continue;
    const now = `${lock.mark} ${lock.touchedMs}`;
    unchangedMs = now === seen ? unchangedMs + pollMs : 0;
    seen = now;
    const holder = Number(lock.mark.split(' ')[0]);
    if (!isAlive(holder) || unchangedMs >= untouchedMs) {
      removeStale(lockPath, lock.mark);
      continue;
    }
    if (!hasSpoken) say(`Waiting for process ${holder}, which is installing or building here …`);
    hasSpoken = true;
    await sleep(pollMs);
  }
}

/**
 * Moves the lock away before it is removed. Another waiter may have been faster: if what was moved is
 * not what was found stale, it is that waiter's lock and goes back.
 *
 * @param {string} lockPath
 * @param {string} staleMark
 */
export function removeStale(lockPath, staleMark) {
  const moved = `${lockPath}.${process.pid}.stale`;
  try {
    renameSync(lockPath, moved);
    if (readFileSync(moved, 'utf8') !== staleMark) linkSync(moved, lockPath);
  } catch (error) {
    // The other one has removed it, or a third has just taken it: try again.
    if (errorCode(error) !== 'ENOENT' && errorCode(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(moved, { force: true });
  }
}

/**
 * @param {string} lockPath
 * @param {string} mark
 */
function tryLock(lockPath, mark) {
  const draft = `${lockPath}.${process.pid}`;
  writeFileSync(draft, mark);
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
 * @param {string} mark
 */
function touch(lockPath, mark) {
  if (readLock(lockPath)?.mark === mark) utimesSync(lockPath, new Date(), new Date());
}

/**
 * @param {string} lockPath
 * @returns {{ mark: string, touchedMs: number } | undefined} Nothing when it was released meanwhile.
 */
function readLock(lockPath) {
  try {
    return { mark: readFileSync(lockPath, 'utf8'), touchedMs: statSync(lockPath).mtimeMs };
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
