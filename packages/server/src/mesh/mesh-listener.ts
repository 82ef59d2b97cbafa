// The mesh listener: accepts and counts the connections of peers, and hands them to the slice.
//
// A drain only stops accepting. What stands carries the last changes to the peers, and is closed by
// the slice when it stops; what is left after that is cut.
import type { Address, Clock, Connection } from '@syncline/kernel';
import { ConnectionCount, type ConnectionCountDeps } from '../connection-count.js';
import { ConnectionSet } from '../connection-set.js';
import { IdleLimitedConnection } from '../idle-limit.js';
import type { ServerListener } from '../listener.js';
import type { CreateNetwork } from '../server-context.js';
import type { MeshAcceptor } from './mesh-acceptor.js';

export interface MeshListenerDeps extends ConnectionCountDeps {
  readonly clock: Clock;
  readonly createNetwork: CreateNetwork;
  readonly acceptor: MeshAcceptor;
  /** Fires when the slices have stopped. */
  readonly ended: AbortSignal;
}

export interface MeshListenerOptions {
  readonly address: Address;
  readonly connectionsMax: number;
  readonly idleTimeoutMs: number;
}

export async function openMeshListener(
  deps: MeshListenerDeps,
  options: MeshListenerOptions,
): Promise<ServerListener> {
  const { clock, acceptor } = deps;
  const { connectionsMax, idleTimeoutMs } = options;
  const count = new ConnectionCount(deps, { listener: 'mesh', connectionsMax });
  const connections = new ConnectionSet(count);
  deps.ended.addEventListener('abort', () => connections.cutAll(), { once: true });
  const idleLimit = { idleTimeoutMs, onIdle: () => count.cut('idle') };
  const accept = (connection: Connection): void => {
    if (connections.add(connection)) {
      acceptor.accept(new IdleLimitedConnection({ connection, clock }, idleLimit));
    } else {
      connection.destroy();
    }
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
