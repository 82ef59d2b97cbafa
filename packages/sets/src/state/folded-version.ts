// The version vector that `v` holds: one key per actor.
import { type ActorId, type StorageEntry, SynclineError, VersionVector } from '@syncline/kernel';
import { readUint32, readUint64 } from './big-endian.js';

/** From all entries of the kind `version`. */
export function foldedVersion(entries: Iterable<StorageEntry>): VersionVector {
  const vector = new VersionVector();
  for (const { key, value } of entries) {
    if (key.length !== 5 || value.length !== 8) {
      throw new SynclineError(
        'corrupt',
        `an entry of the version has ${key.length} and ${value.length} bytes, not 5 and 8. The storage is damaged`,
      );
    }
    vector.advance(readUint32(key, 1) as ActorId, readUint64(value, 0));
  }
  return vector;
}
