// After EXEC, DISCARD and RESET a client is as before MULTI and before its WATCHes.
import type { CommandContext } from '../command.js';

type Ended = Pick<CommandContext, 'client' | 'facts' | 'keyspace'>;

export function endTransaction(context: Ended): void {
  const { client, facts } = context;
  facts.queueRoom.give(client.queuedBytes);
  client.queued = undefined;
  client.queuedBytes = 0;
  client.queuedWords = 0;
  client.isQueueBroken = false;
  forgetWatches(context);
}

export function forgetWatches({ client, facts, keyspace }: Ended): void {
  if (client.watchedKeys > 0) keyspace.unwatch(client);
  facts.watchRoom.give(client.watchedKeys);
  client.watchedKeys = 0;
  client.isTouched = false;
}
