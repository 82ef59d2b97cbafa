// The mesh listener: accepts and counts connections from peers, and passes them to the mesh.
//
// It has no idle timeout, because the mesh detects dead peers itself. A drain only stops accepting connections:
// open ones still carry the last changes to the peers. The mesh closes them after the slices have stopped; any
// that remain after that are cut.
import type { Address, Connection } from '@syncline/kernel';
import type { Mesh } from '@syncline/mesh';
import { ConnectionCount, type ConnectionCountDeps } from '../connection-count.js';
import { ConnectionSet } from '../connection-set.js';
import type { ServerListener } from '../listener.js';
import type { CreateNetwork } from '../server-context.js';

export interface MeshListenerDeps extends ConnectionCountDeps {
  readonly createNetwork: CreateNetwork;
  readonly mesh: Pick<Mesh, 'accept'>;
  /** Fires when the slices and the mesh have stopped. */
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
    if (connections.add(connection)) deps.mesh.accept(connection);
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
