// The sockets of one of Node's own servers, counted from their first moment: those in their TLS
// handshake take a place like any other, and a stop must find them too.
import type { Server, Socket } from 'node:net';
import { type TLSSocket, Server as TlsServer } from 'node:tls';
import type { ConnectionCount } from './connection-count.js';

/** Those that stand now. Beyond the limit a socket is closed at once and never in the set. */
export function countSockets(server: Server, count: ConnectionCount): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  const isSecure = server instanceof TlsServer;
  server.maxConnections = count.connectionsMax; // Node closes those beyond it before any handshake
  server.on('drop', () => count.refused());
  server.prependListener('connection', (socket: Socket) => {
    if (!count.opened()) return void socket.destroy();
    if (!isSecure) count.taken();
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      count.closed();
    });
  });
  if (isSecure) {
    server.on('secureConnection', () => count.taken());
    server.on('tlsClientError', (error: Error, { authorizationError }: TLSSocket) => {
      const cause = authorizationError;
      count.failed(cause ? `the client's certificate is not trusted (${cause})` : error.message);
    });
  }
  return sockets;
}
