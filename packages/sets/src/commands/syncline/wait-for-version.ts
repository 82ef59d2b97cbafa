// Waits until this node has applied a version, for at most so long.
import { abortedError, type VersionVector } from '@syncline/kernel';
import type { CommandContext } from '../command.js';

/** False: the time is over. Rejects with `aborted` when the client is gone. */
export async function waitForVersion(
  version: VersionVector,
  timeoutMs: number,
  { client, facts, keyspace }: CommandContext,
): Promise<boolean> {
  const giveUp = new AbortController();
  const stop = () => giveUp.abort();
  const timer = facts.clock.setTimer(timeoutMs, stop);
  client.gone.addEventListener('abort', stop, { once: true });
  try {
    while (!keyspace.version().dominates(version)) await keyspace.nextVersion(giveUp.signal);
    return true;
  } catch (error) {
    if (client.gone.aborted) throw abortedError('SYNCLINE.READ', client.gone);
    if (giveUp.signal.aborted) return false;
    throw error;
  } finally {
    timer.cancel();
    client.gone.removeEventListener('abort', stop);
  }
}
