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
  /** Timeout of a connection between two requests. 0 for none. */
  readonly idleTimeoutMs: number;
}

export interface NodeHttpServerOptions {
  readonly tls: TlsCredentials | undefined;
  readonly timeouts: HttpTimeouts;
}

/** Node has no "never"; this is its longest timer, 24 days. */
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
    requireHostHeader: false, // the guard refuses it; Node would answer without the handler, uncounted
  };
  const server =
    options.tls === undefined
      ? createServer(serverOptions, handler)
      : createSecureServer(
          { ...serverOptions, ...tlsServerOptions(options.tls, 'http/1.1') },
          handler,
        );
  // Node would silently drop headers above a count. The guard refuses such a request instead.
  server.maxHeadersCount = 0;
  server.on('checkExpectation', handler); // without it Node answers 417 without the handler, uncounted
  return server;
}
