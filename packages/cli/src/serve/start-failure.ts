// Adds to a failed start what only the command line knows: which flag to change.
//
// A listener that cannot open is `unavailable` to the server. On the command line that would suggest that
// another server could not be reached, so the exit code differs.
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
  const advice = listener === undefined ? '' : ` For any free one: --${listener}-port 0.`;
  return new SynclineError('conflict', `${thrown.message}${advice}`, { cause: thrown });
}
