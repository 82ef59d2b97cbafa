// Tracks the sockets of a Node server from the moment they connect: one in its TLS handshake takes a slot like
// any other, and has to be closed on a stop as well.
import type { Server, Socket } from 'node:net';
import { type TLSSocket, Server as TlsServer } from 'node:tls';
import type { ConnectionCount } from './connection-count.js';

type RemoteEnd = Pick<Socket, 'remoteAddress' | 'remotePort'>;

/**
 * Returns the open sockets. At the limit, a new one replaces the oldest one for which `mayClose` returns true; if there
 * is none, the new one is closed immediately and never added.
 */
export function countSockets(
  server: Server,
  count: ConnectionCount,
  mayClose?: (socket: Socket) => boolean,
): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  /** By the addresses of both ends, which a TLS socket shares with the socket below it. */
  const secured = new Map<string, Socket>();
  const isSecure = server instanceof TlsServer;
  const forget = (socket: Socket) => {
    if (sockets.delete(socket)) count.closed();
  };
  const closeOldest = () => {
    for (const socket of sockets) {
      if (!mayClose?.(secured.get(endsOf(socket)) ?? socket)) continue;
      count.evicted();
      socket.destroy();
      return forget(socket); // its `close` event comes later
    }
  };
  // Node closes those above this limit before any handshake.
  server.maxConnections = count.connectionsMax + (mayClose ? 1 : 0);
  server.on('drop', () => count.refused());
  server.prependListener('connection', (socket: Socket) => {
    if (mayClose && sockets.size >= count.connectionsMax) closeOldest();
    if (!count.opened()) return void socket.destroy();
    if (!isSecure) count.accepted();
    sockets.add(socket);
    socket.once('close', () => forget(socket));
  });
  if (isSecure) {
    server.on('secureConnection', (socket: TLSSocket) => {
      count.accepted();
      const ends = endsOf(socket);
      secured.set(ends, socket);
      socket.once('close', () => {
        if (secured.get(ends) === socket) secured.delete(ends);
      });
    });
    server.on('tlsClientError', (error: Error, { authorizationError }: TLSSocket) => {
      const cause = authorizationError;
      count.failed(cause ? `the client's certificate is not trusted (${cause})` : error.message);
    });
  }
  return sockets;
}

/** In the format of `getPeer` of grpc-js. */
export function peerOf({ remoteAddress, remotePort }: RemoteEnd): string {
  return `${remoteAddress}:${remotePort}`;
}

function endsOf(socket: Socket): string {
  return `${socket.localAddress} ${peerOf(socket)}`;
}
