// The sockets of one of Node's own servers, counted from the start: a socket in its TLS handshake takes a slot
// like any other, and a stop must find it too.
import type { Server, Socket } from 'node:net';
import { type TLSSocket, Server as TlsServer } from 'node:tls';
import type { ConnectionCount } from './connection-count.js';

/** The open sockets. Above the limit a socket is closed immediately and never added. */
export function countSockets(server: Server, count: ConnectionCount): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  const isSecure = server instanceof TlsServer;
  server.maxConnections = count.connectionsMax; // Node closes those above it before any handshake
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
