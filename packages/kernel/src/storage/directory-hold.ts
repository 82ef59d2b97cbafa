// Holds a directory for this process: one holder at a time; other processes are refused, with the name of the holder.
//
// The lock is that of a LevelDB in the directory. It is an fcntl lock, which belongs to the process: opening it twice
// in the same process, under another spelling of the path, would not only succeed but also release it on close. So
// each process keeps a list of real paths, which is checked before LevelDB is opened.
//
// K19  A directory has one holder. Another process gets `locked`, and `details.holder` names the holder.
import { access, constants, mkdir, open, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../clock.js';
import { SynclineError } from '../error.js';
import { errnoOf, fileSystemError } from '../files/file-system-error.js';
import {
  type DirectoryOwner,
  findHolder,
  removeOwner,
  thisProcess,
  writeOwner,
} from './owner-file.js';

export interface DirectoryHold<Database> {
  readonly database: Database;
  readonly owner: DirectoryOwner;
  /** Removes the name, lets `close` release the lock, and then lets others in this process try. */
  release(close: () => Promise<void>): Promise<void>;
}

/** Real paths held by this process. */
const heldPaths = new Set<string>();

/** `openDatabase` takes the lock; it throws `locked` when another process has it. */
export async function holdDirectory<Database extends { close(): Promise<void> }>(
  clock: Clock,
  directory: string,
  openDatabase: () => Promise<Database>,
): Promise<DirectoryHold<Database>> {
  const path = await makeDirectory(directory);
  if (heldPaths.has(path)) throw await lockedError(clock, directory);
  heldPaths.add(path);
  try {
    const database = await openDatabase();
    const owner = await announce(clock, directory, database);
    return {
      database,
      owner,
      async release(close) {
        await removeOwner(directory, owner); // while the lock is ours: its next holder may write a name
        try {
          await close();
        } finally {
          heldPaths.delete(path);
        }
      },
    };
  } catch (thrown) {
    heldPaths.delete(path);
    const isLocked = thrown instanceof SynclineError && thrown.code === 'locked';
    throw isLocked ? await lockedError(clock, directory) : thrown;
  }
}

async function announce(
  clock: Clock,
  directory: string,
  database: { close(): Promise<void> },
): Promise<DirectoryOwner> {
  const owner = thisProcess(clock);
  try {
    await writeOwner(directory, owner);
    return owner;
  } catch (thrown) {
    await database.close();
    const errno = errnoOf(thrown);
    throw fileSystemError({ action: 'write owner.json in', path: directory, errno, cause: thrown });
  }
}

async function makeDirectory(directory: string): Promise<string> {
  try {
    const firstMade = await makePath(directory);
    const path = await realpath(directory);
    await access(path, constants.W_OK); // LevelDB would report a missing file
    if (firstMade !== undefined) await syncNames(path, await realpath(firstMade));
    return path;
  } catch (thrown) {
    // A file where the directory should be: `mkdir` says that it exists, which would mislead.
    const errno = errnoOf(thrown) === 'EEXIST' ? 'ENOTDIR' : errnoOf(thrown);
    throw fileSystemError({ action: 'use the directory', path: directory, errno, cause: thrown });
  }
}

/**
 * Creates the missing part of a path and returns the first directory created. Node's recursive `mkdir` reports
 * ENOENT on a read-only file system, and never returns in /proc.
 */
async function makePath(directory: string): Promise<string | undefined> {
  try {
    await mkdir(directory);
    return directory;
  } catch (thrown) {
    if (errnoOf(thrown) === 'EEXIST' && (await stat(directory)).isDirectory()) return undefined;
    if (errnoOf(thrown) !== 'ENOENT' || dirname(directory) === directory) throw thrown;
    const firstMade = await makePath(dirname(directory));
    await mkdir(directory);
    return firstMade ?? directory;
  }
}

/** A new directory's name is durable once its parent is synced; from `path` up to the first one created. */
async function syncNames(path: string, firstMade: string): Promise<void> {
  for (let made = path; ; made = dirname(made)) {
    await using parent = await open(dirname(made));
    await parent.sync();
    if (made === firstMade) return;
  }
}

async function lockedError(clock: Clock, directory: string): Promise<SynclineError> {
  const holder = await findHolder(clock, directory);
  const who = holder
    ? `process ${holder.pid} on ${holder.host} since ${holder.startedAt}`
    : 'another process, which has not identified itself';
  return new SynclineError(
    'locked',
    `${directory} is in use by ${who}. Stop that process first, or choose another directory.`,
    { details: { directory, ...(holder && { holder }) } },
  );
}
