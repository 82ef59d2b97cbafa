// The Node server below fastify, with every limit that Node itself can enforce.
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { TlsCredentials } from '../config/server-config.js';
import { serverLimits } from '../limits.js';
import { tlsServerOptions } from '../node-listen.js';

export interface HttpTimeouts {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly stallTimeoutMs: number;
  /** A connection without a request is closed after this time. 0 disables the timeout. */
  readonly idleTimeoutMs: number;
}

export interface NodeHttpServerOptions {
  readonly tls: TlsCredentials | undefined;
  readonly timeouts: HttpTimeouts;
}

/** Node cannot disable this timeout; its longest timer is 24 days. */
const NEVER_MS = 2 ** 31 - 1;

export function createNodeHttpServer(
  handler: RequestListener,
  options: NodeHttpServerOptions,
): Server {
  const { headersTimeoutMs, requestTimeoutMs, idleTimeoutMs } = options.timeouts;
  const serverOptions = {
    maxHeaderSize: serverLimits.httpHeaderBytesMax.value,
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: idleTimeoutMs === 0 ? NEVER_MS : idleTimeoutMs,
    // How often Node checks for late requests; with its default of 30 s the limits would be imprecise.
    connectionsCheckingInterval: Math.min(1_000, headersTimeoutMs / 4),
    requireHostHeader: false, // checked by the request guard; Node's own response would not be counted
  };
  const server =
    options.tls === undefined
      ? createServer(serverOptions, handler)
      : createSecureServer(
          { ...serverOptions, ...tlsServerOptions(options.tls, 'http/1.1') },
          handler,
        );
  // Node would silently drop headers above its limit. The request guard refuses such requests instead.
  server.maxHeadersCount = 0;
  server.on('checkExpectation', handler); // otherwise Node responds with 417 itself, uncounted
  return server;
}
