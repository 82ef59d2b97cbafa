// Several changes of a command as one operation: all of them, or none if that is too large for one.
import type { Keyspace } from '../keyspace.js';

export function inOneOperation(keyspace: Keyspace, change: () => void): void {
  keyspace.begin();
  try {
    change();
  } catch (thrown) {
    keyspace.abandon();
    throw thrown;
  }
  keyspace.end();
}
