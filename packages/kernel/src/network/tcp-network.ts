// Network over TCP.
import { createServer, type Socket } from 'node:net';
import type { Connection, Network } from './network.js';
import { DirectSockets, SocketConnection } from './socket-connection.js';
import { dialTcp } from './tcp-dial.js';
import { socketOptions, startListening } from './tcp-listen.js';
import { type TcpNetworkOptions, tcpSettings } from './tcp-settings.js';

export function createTcpNetwork(options: TcpNetworkOptions = {}): Network {
  const settings = tcpSettings(options);
  const directSockets = new DirectSockets();
  const connectionOver = (socket: Socket): Connection =>
    new SocketConnection({ socket, transport: socket, peerUris: [] }, settings);
  return {
    listen(address, accept) {
      const server = createServer({ ...socketOptions(settings), pauseOnConnect: true });
      server.on('connection', (accepted) => {
        const direct = directSockets.bypassStream(accepted, server);
        const socket = direct?.socket ?? accepted;
        accept(new SocketConnection({ socket, transport: socket, peerUris: [], direct }, settings));
      });
      return startListening(server, address, settings);
    },
    async connect(address, { signal } = {}) {
      const deadlineMs = performance.now() + settings.connectTimeoutMs;
      return await dialTcp({ address, settings, deadlineMs, signal }, connectionOver);
    },
  };
}
