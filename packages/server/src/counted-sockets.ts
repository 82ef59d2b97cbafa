// Tracks the sockets of a Node server from the moment they connect: one in its TLS handshake takes a slot like
// any other, and has to be closed on a stop as well.
import type { Server, Socket } from 'node:net';
import { type TLSSocket, Server as TlsServer } from 'node:tls';
import type { ConnectionCount } from './connection-count.js';

/** Returns the open sockets. A socket above the limit is closed immediately and never added. */
export function countSockets(server: Server, count: ConnectionCount): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  const isSecure = server instanceof TlsServer;
  server.maxConnections = count.connectionsMax; // Node closes those above it before any handshake
  server.on('drop', () => count.refused());
  server.prependListener('connection', (socket: Socket) => {
    if (!count.opened()) return void socket.destroy();
    if (!isSecure) count.accepted();
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      count.closed();
    });
  });
  if (isSecure) {
    server.on('secureConnection', () => count.accepted());
    server.on('tlsClientError', (error: Error, { authorizationError }: TLSSocket) => {
      const cause = authorizationError;
      count.failed(cause ? `the client's certificate is not trusted (${cause})` : error.message);
    });
  }
  return sockets;
}
