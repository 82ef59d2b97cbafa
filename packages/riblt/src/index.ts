export { type ItemHash, type RibltKey, ribltHash } from './item-hash.js';
