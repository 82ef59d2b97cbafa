// The gRPC listener. We accept connections ourselves and hand them to grpc-js, which has neither a connection
// limit nor a TLS handshake timeout, and does not report why it cannot bind a port.
import { createServer, type Server as NetServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { Address, Logger } from '@syncline/kernel';
import type { GuessBudget } from '../auth/guess-budget.js';
import type { TlsCredentials } from '../config/server-config.js';
import { ConnectionCount } from '../connection-count.js';
import { countSockets } from '../counted-sockets.js';
import { serverLimits } from '../limits.js';
import type { ListeningAddress, ServerListener } from '../listener.js';
import { listenOn, tlsServerOptions } from '../node-listen.js';
import type { Readiness } from '../readiness.js';
import type { UnsentWatch } from '../unsent-watch.js';
import { type CallGuardDeps, type CallWatch, createCallGuard } from './call-guard.js';
import { ConnectionGuard } from './connection-guard.js';
import type { GrpcService } from './grpc-service.js';
import { guardHandlers } from './handler-errors.js';
import { HealthService } from './health-service.js';
import { addReflection } from './reflection.js';

export interface GrpcListenerDeps extends CallGuardDeps {
  readonly logger: Logger;
  readonly readiness: Readiness;
  readonly guesses: GuessBudget;
  readonly unsent: UnsentWatch;
}

export interface GrpcTimeouts {
  readonly requestTimeoutMs: number;
  /** A connection without a call is closed after this time. 0 disables the timeout. */
  readonly idleTimeoutMs: number;
}

export interface GrpcListenerOptions {
  readonly address: Address;
  readonly tls: TlsCredentials | undefined;
  readonly connectionsMax: number;
  readonly timeouts: GrpcTimeouts;
  readonly services: readonly { readonly slice: string; readonly service: GrpcService }[];
}

export async function openGrpcListener(
  deps: GrpcListenerDeps,
  options: GrpcListenerOptions,
): Promise<ServerListener> {
  const sliceOf = new Map(options.services.map(({ slice, service }) => [service.name, slice]));
  const health = new HealthService(deps, sliceOf);
  const services = [...options.services.map(({ service }) => service), health.grpc];
  const { connectionsMax, tls } = options;
  const count = new ConnectionCount(deps, { listener: 'grpc', connectionsMax });
  const guard = new ConnectionGuard({ ...deps, count });
  const server = createGrpcServer({ ...deps, watch: guard }, options.timeouts);
  for (const service of services) {
    const handlers = guardHandlers(service, { ...deps, unsentOf: (peer) => guard.unsentOf(peer) });
    server.addService(service.definition, handlers);
  }
  addReflection(server, services, deps);
  // TLS is terminated before grpc-js sees the socket, hence the insecure credentials.
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const patient = new Set(
    services
      .flatMap(({ definition }) => Object.values(definition))
      .filter(({ requestStream, responseStream }) => responseStream && !requestStream)
      .map(({ path }) => path),
  );
  guard.watchStreams(server, (path) => patient.has(path));
  const acceptor = createAcceptor(tls, (socket) => {
    if (guard.opened(socket)) injector.injectConnection(socket);
  });
  const sockets = countSockets(acceptor, count);
  const address = await listenOn(acceptor, options.address, deps.logger);
  return new GrpcListener({ acceptor, count, guard, sockets, server, health }, address);
}

interface GrpcListenerParts {
  readonly acceptor: NetServer;
  readonly count: ConnectionCount;
  readonly guard: ConnectionGuard;
  readonly sockets: ReadonlySet<Socket>;
  readonly server: Server;
  readonly health: HealthService;
}

class GrpcListener implements ServerListener {
  readonly address: ListeningAddress;
  readonly #parts: GrpcListenerParts;
  #drained: Promise<void> | undefined;

  constructor(parts: GrpcListenerParts, address: Address) {
    this.#parts = parts;
    this.address = { listener: 'grpc', ...address };
  }

  drain(signal: AbortSignal): Promise<void> {
    this.#drained ??= this.#drain(signal);
    return this.#drained;
  }

  close(signal: AbortSignal): Promise<void> {
    return this.drain(signal);
  }

  async #drain(signal: AbortSignal): Promise<void> {
    const { acceptor, server, health } = this.#parts;
    acceptor.close();
    this.#parts.guard.close();
    health.close();
    const finished = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
    const force = (): void => this.#cutAll();
    if (signal.aborted) force();
    else signal.addEventListener('abort', force, { once: true });
    await finished;
    signal.removeEventListener('abort', force);
    force(); // connections that were still in a TLS handshake
  }

  /** grpc-js's own forceShutdown finds no session while channelz is off. */
  #cutAll(): void {
    for (const socket of this.#parts.sockets) {
      this.#parts.count.cut('drain');
      socket.destroy();
    }
  }
}

function createGrpcServer(
  deps: CallGuardDeps & { readonly watch: CallWatch },
  timeouts: GrpcTimeouts,
): Server {
  const { requestTimeoutMs, idleTimeoutMs } = timeouts;
  return new Server({
    'grpc.max_receive_message_length': serverLimits.grpcMessageBytesMax.value,
    'grpc.max_concurrent_streams': serverLimits.grpcStreamsPerConnectionMax.value,
    'grpc.keepalive_time_ms': serverLimits.grpcKeepaliveIntervalMs.value,
    'grpc.keepalive_timeout_ms': serverLimits.grpcKeepaliveTimeoutMs.value,
    ...(idleTimeoutMs === 0 ? {} : { 'grpc.max_connection_idle_ms': idleTimeoutMs }),
    'grpc.enable_channelz': 0,
    interceptors: [createCallGuard(deps, { requestTimeoutMs })],
  });
}

function createAcceptor(
  tls: TlsCredentials | undefined,
  inject: (socket: Socket) => void,
): NetServer {
  const accept = (socket: Socket): void => {
    if (!socket.destroyed) inject(socket);
  };
  if (tls === undefined) return createServer({ noDelay: true }, accept);
  return createTlsServer({ noDelay: true, ...tlsServerOptions(tls, 'h2') }, accept);
}
