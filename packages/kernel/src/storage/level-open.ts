// Opens a LevelDB with the settings that experiments have shown to matter, and explains its refusals.
//
// LevelDB treats a directory without the file CURRENT as new: it starts an empty store there and deletes the
// tables and logs that it finds. So such leftovers are checked for first. It also skips a log that it cannot
// open, and deletes it later with the writes in it. So each log must be readable.
//
// K15  A log that cannot be read keeps the store closed.
// K18  A store that has lost its CURRENT is `corrupt`, and nothing in it is touched.
import { access, constants, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClassicLevel } from 'classic-level';
import { errnoOf } from '../files/file-system-error.js';
import { kernelLimits } from '../limits.js';
import { corruptStore, levelOpenError } from './level-error.js';

export type LevelDatabase = ClassicLevel<Uint8Array, Uint8Array>;

/** MANIFEST-000001 names no data: it is left by an opening that was interrupted before it wrote CURRENT. */
const FILE_WITH_DATA = /^(\d+\.(ldb|sst|log)|MANIFEST-(?!0*1$)\d+)$/;
const LOG_FILE = /^\d+\.log$/;

export async function openLevel(directory: string): Promise<LevelDatabase> {
  try {
    const names = await readdir(directory).catch(emptyIfMissing);
    await checkCurrent(directory, names);
    await checkLogs(directory, names);
    // Loaded when a store is opened, so that importing the kernel does not load LevelDB.
    const { ClassicLevel } = await import('classic-level');
    // Not before: a new ClassicLevel opens itself on the next tick.
    const database: LevelDatabase = new ClassicLevel(directory, {
      keyEncoding: 'view',
      valueEncoding: 'view',
      writeBufferSize: kernelLimits.storageWriteBufferBytes.value,
      cacheSize: kernelLimits.storageCacheBytes.value,
    });
    await database.open();
    return database;
  } catch (thrown) {
    throw levelOpenError(thrown, directory);
  }
}

/** Checked after `names` were listed: another process that creates the store writes CURRENT before data. */
async function checkCurrent(directory: string, names: readonly string[]): Promise<void> {
  const orphan = names.find((name) => FILE_WITH_DATA.test(name));
  if (orphan === undefined) return;
  try {
    await access(join(directory, 'CURRENT'));
  } catch (thrown) {
    if (errnoOf(thrown) !== 'ENOENT') throw thrown;
    throw corruptStore(new Error(`it has ${orphan} but no file CURRENT`), directory);
  }
}

/** A log that is gone by now was removed by a process that holds the store. */
async function checkLogs(directory: string, names: readonly string[]): Promise<void> {
  for (const name of names.filter((each) => LOG_FILE.test(each))) {
    await access(join(directory, name), constants.R_OK).catch(emptyIfMissing);
  }
}

function emptyIfMissing(thrown: unknown): readonly string[] {
  if (errnoOf(thrown) === 'ENOENT') return [];
  throw thrown;
}
