// The mesh listener: accepts and counts the connections of peers, and hands them to the slice.
//
// Whether a peer still lives is the slice's to find out: it knows what it has sent and when an answer
// is due. A drain only stops accepting. What stands carries the last changes to the peers, and is closed by
// the slice when it stops; what is left after that is cut.
import type { Address, Connection } from '@syncline/kernel';
import { ConnectionCount, type ConnectionCountDeps } from '../connection-count.js';
import { ConnectionSet } from '../connection-set.js';
import type { ServerListener } from '../listener.js';
import type { CreateNetwork } from '../server-context.js';
import type { MeshAcceptor } from './mesh-acceptor.js';

export interface MeshListenerDeps extends ConnectionCountDeps {
  readonly createNetwork: CreateNetwork;
  readonly acceptor: MeshAcceptor;
  /** Fires when the slices have stopped. */
  readonly ended: AbortSignal;
}

export interface MeshListenerOptions {
  readonly address: Address;
  readonly connectionsMax: number;
}

export async function openMeshListener(
  deps: MeshListenerDeps,
  options: MeshListenerOptions,
): Promise<ServerListener> {
  const { connectionsMax } = options;
  const count = new ConnectionCount(deps, { listener: 'mesh', connectionsMax });
  const connections = new ConnectionSet(count);
  deps.ended.addEventListener('abort', () => connections.cutAll(), { once: true });
  const accept = (connection: Connection): void => {
    if (connections.add(connection)) deps.acceptor.accept(connection);
    else connection.destroy();
  };
  const network = deps.createNetwork(count.networkOptions());
  const listener = await network.listen(options.address, accept);
  const close = (): Promise<void> => listener.close();
  const { host } = options.address;
  return {
    address: { listener: 'mesh', host, port: listener.address.port },
    drain: close,
    close,
  };
}
