// Adds to a failed start what only the command line knows: which flag to change.
import { SynclineError } from '@syncline/kernel';
import type { ServerConfig } from '@syncline/server';

const LISTENERS = ['http', 'grpc', 'resp', 'mesh'] as const;

export function explainStartFailure(thrown: unknown, config: ServerConfig): unknown {
  if (!(thrown instanceof SynclineError)) return thrown;
  const { reason, address } = thrown.details;
  if (reason !== 'address-in-use') return thrown;
  const { port } = address as { readonly port: number };
  const listener = LISTENERS.find((name) => config[name].port === port);
  const advice = listener === undefined ? '' : ` For any free one: --${listener}-port 0.`;
  return new SynclineError('conflict', `${thrown.message}${advice}`, { cause: thrown });
}
