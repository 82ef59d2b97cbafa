// Opens a LevelDB with the settings that trials have shown to matter, and words its refusals.
import { ClassicLevel } from 'classic-level';
import { kernelLimits } from '../limits.js';
import { levelOpenError } from './level-error.js';

export type LevelDatabase = ClassicLevel<Uint8Array, Uint8Array>;

export async function openLevel(directory: string): Promise<LevelDatabase> {
  const database: LevelDatabase = new ClassicLevel(directory, {
    keyEncoding: 'view',
    valueEncoding: 'view',
    writeBufferSize: kernelLimits.storageWriteBufferBytes.value,
    cacheSize: kernelLimits.storageCacheBytes.value,
  });
  try {
    await database.open();
    return database;
  } catch (thrown) {
    throw levelOpenError(thrown, directory);
  }
}
