// The sockets of one of Node's own servers, counted from their first moment: those in their TLS
// handshake take a place like any other, and a stop must find them too.
import type { Server, Socket } from 'node:net';
import type { ConnectionCount } from './connection-count.js';

/** Those that stand now. Beyond the limit a socket is closed at once and never in the set. */
export function countSockets(server: Server, count: ConnectionCount): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.prependListener('connection', (socket: Socket) => {
    if (!count.opened()) return void socket.destroy();
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      count.closed();
    });
  });
  return sockets;
}
