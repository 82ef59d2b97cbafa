export { readStoredSets, type StoredSets } from './testing/stored-sets.js';
