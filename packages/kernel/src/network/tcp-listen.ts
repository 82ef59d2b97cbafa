// Listening, the same for TCP and TLS: starts a server, converts its errors, stops it.
import type { Server } from 'node:net';
import { assert } from '../assert.js';
import { plainHost } from './address.js';
import type { Address, Listener } from './network.js';
import { listenError } from './network-error.js';
import type { TcpSettings } from './tcp-settings.js';

/** Settings of every socket, accepted or opened. */
export function socketOptions(settings: TcpSettings) {
  return {
    allowHalfOpen: true, // the peer's end must not end our direction
    noDelay: true, // the writes of one turn already leave in two packets at most
    keepAlive: true,
    keepAliveInitialDelay: settings.keepAliveDelayMs,
    highWaterMark: 1, // we do the reading ahead: once paused, a socket reads one chunk more at most
  };
}

/** `stopped` is called when the listener is closed. */
export function startListening(
  server: Server,
  address: Address,
  settings: TcpSettings,
  stopped: () => void = () => {},
): Promise<Listener> {
  server.maxConnections = settings.connectionsMax;
  server.on('drop', (dropped) => {
    const remote = addressFrom(dropped?.remoteAddress, dropped?.remotePort);
    settings.onRefused({ reason: 'connections-max', remote, error: undefined });
  });
  return new Promise((resolve, reject) => {
    const refuse = (error: Error) => reject(listenError(address, error));
    server.once('error', refuse);
    server.listen({ host: address.host, port: address.port }, () => {
      server.off('error', refuse);
      // Accepting can fail for lack of file descriptors; the listener keeps running.
      server.on('error', (error) =>
        settings.onRefused({ reason: 'accept-failed', remote: undefined, error }),
      );
      resolve(listenerOf(server, stopped));
    });
  });
}

export function addressFrom(host: string | undefined, port: number | undefined) {
  return host === undefined || port === undefined ? undefined : { host: plainHost(host), port };
}

function listenerOf(server: Server, stopped: () => void): Listener {
  const bound = server.address();
  assert(bound !== null && typeof bound === 'object', 'a TCP listener has an address');
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    server.close(); // frees the port at once; it would report back only after the last connection
    stopped();
  };
  return {
    address: { host: bound.address, port: bound.port },
    close,
    [Symbol.asyncDispose]: close,
  };
}
