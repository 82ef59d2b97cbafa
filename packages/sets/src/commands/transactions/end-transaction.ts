// After EXEC, DISCARD and RESET a client is as before MULTI and before its WATCHes.
import type { Keyspace } from '../../keyspace.js';
import type { Client } from '../client.js';

export function endTransaction(client: Client, keyspace: Keyspace): void {
  client.queued = undefined;
  client.queuedBytes = 0;
  client.isQueueBroken = false;
  forgetWatches(client, keyspace);
}

export function forgetWatches(client: Client, keyspace: Keyspace): void {
  if (client.watchedKeys > 0) keyspace.unwatch(client);
  client.watchedKeys = 0;
  client.isTouched = false;
}
