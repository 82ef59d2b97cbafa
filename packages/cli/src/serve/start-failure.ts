// Adds the flags to change to the error of a failed start.
//
// The server reports a port that it cannot open as `unavailable`. For the command line that code means that a
// server could not be reached, so it is replaced. It stops at the first such port; the others are tried here.
import { SynclineError } from '@syncline/kernel';
import { type ServerConfig, usedPorts } from '@syncline/server/config';
import { findTakenPorts, takenPortsText } from './taken-ports.js';

export async function explainStartFailure(thrown: unknown, config: ServerConfig): Promise<unknown> {
  if (!(thrown instanceof SynclineError) || thrown.code !== 'unavailable') return thrown;
  const { message, details } = thrown;
  if (details['reason'] !== 'address-in-use')
    return new SynclineError('invalid-argument', message, { cause: thrown });
  const { listenHost } = config;
  const taken = await findTakenPorts(listenHost, usedPorts(config)).catch(() => []);
  const text = taken.length === 0 ? message : takenPortsText(listenHost, taken);
  return new SynclineError('conflict', text, { cause: thrown });
}
