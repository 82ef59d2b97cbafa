// Adds the flag to change to the error of a failed start.
//
// The server reports a port that it cannot open as `unavailable`. For the command line that code means that a
// server could not be reached, so it is replaced.
import { SynclineError } from '@syncline/kernel';
import type { ServerConfig } from '@syncline/server/config';

const LISTENERS = ['http', 'grpc', 'resp', 'mesh'] as const;

export function explainStartFailure(thrown: unknown, config: ServerConfig): unknown {
  if (!(thrown instanceof SynclineError) || thrown.code !== 'unavailable') return thrown;
  const { reason, address } = thrown.details;
  if (reason !== 'address-in-use')
    return new SynclineError('invalid-argument', thrown.message, { cause: thrown });
  const { port } = address as { readonly port: number };
  const listener = LISTENERS.find((name) => config[name].port === port);
  const advice = listener === undefined ? '' : ` To use any free port: --${listener}-port 0.`;
  return new SynclineError('conflict', `${thrown.message}${advice}`, { cause: thrown });
}
