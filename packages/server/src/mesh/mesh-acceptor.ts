// What a slice gives the server to receive the connections of peers.
import type { Connection } from '@syncline/kernel';

export interface MeshAcceptor {
  /**
   * Takes over a connection that a peer has opened: handshake, frames, liveness and its end are the
   * acceptor's. The server counts it, and cuts it when it is still there after the slice has stopped.
   */
  accept(connection: Connection): void;
}
