// The entry point `@syncline/kernel/level`: Storage on LevelDB.
export {
  type LevelStorageDeps,
  type LevelStorageOptions,
  openLevelStorage,
} from './storage/level-storage.js';
