// Listening with Node's own servers, which HTTP and gRPC need: errors as in the kernel, and the TLS options.
import type { Server, Socket } from 'node:net';
import { type TLSSocket, type TlsOptions, Server as TlsServer } from 'node:tls';
import { type Address, kernelLimits, type Logger } from '@syncline/kernel';
import { listenError, TlsHandshakes } from '@syncline/kernel/node';
import type { TlsCredentials } from './config/server-config.js';

/** Resolves with the actual address once the server accepts connections. Rejects with `unavailable`. */
export function listenOn(server: Server, address: Address, logger: Logger): Promise<Address> {
  if (server instanceof TlsServer) limitHandshakes(server);
  return new Promise((resolve, reject) => {
    const fail = (cause: Error): void => reject(listenError(address, cause));
    server.once('error', fail);
    server.listen(address.port, address.host, () => {
      server.off('error', fail);
      // Accepting can fail for lack of file descriptors; the listener keeps running.
      server.on('error', (error) => logger.warn('accept failed', { ...address, error }));
      const bound = server.address();
      const port = typeof bound === 'object' && bound !== null ? bound.port : address.port;
      resolve({ host: address.host, port });
    });
  });
}

/** If CAs are configured, a client must present a certificate signed by one of them. */
export function tlsServerOptions(
  material: TlsCredentials,
  protocol: 'h2' | 'http/1.1',
): TlsOptions {
  const { cert, key, ca } = material;
  return {
    cert,
    key,
    ...(ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: true }),
    minVersion: 'TLSv1.2',
    ALPNProtocols: [protocol],
  };
}

/** A timeout for the whole handshake. Node's own timeout restarts with each byte. */
function limitHandshakes(server: TlsServer): void {
  const handshakes = new TlsHandshakes(kernelLimits.tlsHandshakeTimeoutMs.value);
  server.on('connection', (transport: Socket) => handshakes.begin(transport));
  server.on('secureConnection', (secure: TLSSocket) => handshakes.finish(secure));
}
