// The entry point `@syncline/kernel/level`: Storage on LevelDB.
export { type DamagedLog, findDamagedLogs } from './storage/level-log.js';
export {
  type LevelStorageDeps,
  type LevelStorageOptions,
  openLevelStorage,
} from './storage/level-storage.js';
