// Network over TLS 1.2 and above, with client certificates where authorities are given.
//
// K69  A peer whose handshake fails, or whose certificate is not signed by the given authorities, never
//      reaches `accept`; `peerUris` holds names of a verified certificate only.
import { isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContextOptions, type TLSSocket } from 'node:tls';
import { SynclineError } from '../error.js';
import { kernelLimits } from '../limits.js';
import type { Connection, Network } from './network.js';
import { handshakeError } from './network-error.js';
import { SocketConnection } from './socket-connection.js';
import { uriNames } from './subject-alt-name.js';
import { type Dial, dialTcp, whenOpen } from './tcp-dial.js';
import { type TcpNetworkOptions, type TcpSettings, tcpSettings } from './tcp-settings.js';
import { startListeningTls } from './tls-listen.js';
import { checkTlsMaterial, contextOptions, type TlsMaterial } from './tls-material.js';

export interface TlsNetworkOptions extends TcpNetworkOptions, TlsMaterial {
  /** Whether clients must show a certificate that `ca` has signed. Default: when `ca` is given. */
  readonly requireClientCertificate?: boolean;
  /** How long an accepted connection may take for its handshake. Default 5 s. */
  readonly handshakeTimeoutMs?: number;
}

/** Throws `invalid-argument` at once when certificate, key and authorities cannot work. */
export function createTlsNetwork(options: TlsNetworkOptions): Network {
  const isClientChecked = options.requireClientCertificate ?? options.ca !== undefined;
  if (isClientChecked && options.ca === undefined)
    throw missing('ca', 'client certificates cannot be verified without a CA');
  checkTlsMaterial(options);
  const context = contextOptions(options);
  const settings = tcpSettings(options);
  const handshakeTimeoutMs = options.handshakeTimeoutMs ?? kernelLimits.tlsHandshakeTimeoutMs.value;
  return {
    async listen(address, accept) {
      if (!context.cert) throw missing('cert', 'a TLS listener needs a certificate and its key');
      return await startListeningTls(
        address,
        (secure, transport) => accept(connectionOver(secure, transport, settings)),
        { context, isClientChecked, handshakeTimeoutMs, settings },
      );
    },
    async connect(address, { signal } = {}) {
      const deadlineMs = performance.now() + settings.connectTimeoutMs;
      return await dialTls({ address, settings, deadlineMs, signal }, context);
    },
  };
}

async function dialTls(dial: Dial, context: SecureContextOptions): Promise<Connection> {
  const { host } = dial.address;
  const servername = isIP(host) === 0 ? host : ''; // a name only: TLS does not allow an address here
  return await dialTcp(dial, (transport) => {
    transport.on('error', () => {}); // the TLS stream above reports it
    const socket = connectTls({ ...context, socket: transport, host, servername });
    const opened = () => connectionOver(socket, transport, dial.settings);
    const failed = (error: Error) => handshakeError(dial.address, error, socket.authorizationError);
    return whenOpen({ socket, event: 'secureConnect', opened, failed }, dial);
  });
}

function connectionOver(socket: TLSSocket, transport: Socket, settings: TcpSettings): Connection {
  const peerUris = socket.authorized ? uriNames(socket.getPeerCertificate().subjectaltname) : [];
  return new SocketConnection({ socket, transport, peerUris }, settings);
}

function missing(field: string, message: string): SynclineError {
  return new SynclineError('invalid-argument', message, { details: { field, reason: 'missing' } });
}
