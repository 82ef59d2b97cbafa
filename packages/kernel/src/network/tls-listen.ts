// Listening for TLS: runs handshakes, each with a timeout, and passes on those that succeed.
import type { Socket } from 'node:net';
import { createServer, type TLSSocket, type TlsOptions } from 'node:tls';
import type { Address, Listener } from './network.js';
import { addressFrom, socketOptions, startListening } from './tcp-listen.js';
import type { TcpSettings } from './tcp-settings.js';
import { TlsHandshakes } from './tls-handshakes.js';

export interface TlsListenOptions {
  /** Certificate, key, authorities, versions. */
  readonly context: TlsOptions;
  readonly isClientChecked: boolean;
  readonly handshakeTimeoutMs: number;
  readonly settings: TcpSettings;
}

/** `accept` gets the TLS stream and the TCP socket below it. */
export function startListeningTls(
  address: Address,
  accept: (secure: TLSSocket, transport: Socket) => void,
  { context, isClientChecked, handshakeTimeoutMs, settings }: TlsListenOptions,
): Promise<Listener> {
  const server = createServer({
    ...context,
    ...socketOptions(settings),
    requestCert: isClientChecked,
    rejectUnauthorized: isClientChecked,
  });
  const handshakes = new TlsHandshakes(handshakeTimeoutMs);
  server.on('connection', (transport: Socket) => handshakes.begin(transport));
  server.on('secureConnection', (secure) => {
    const transport = handshakes.finish(secure);
    if (transport) accept(secure, transport);
    else secure.destroy();
  });
  server.on('tlsClientError', (error, secure) => {
    const cause = secure.authorizationError;
    settings.onRefused({
      reason: 'handshake-failed',
      remote: addressFrom(secure.remoteAddress, secure.remotePort),
      error: cause ? new Error(`the client's certificate is not trusted (${cause})`) : error,
    });
  });
  return startListening(server, address, settings, () => handshakes.dropAll());
}
