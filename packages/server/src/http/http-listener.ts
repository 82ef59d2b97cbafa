// The HTTP listener: connections, limits, timeouts and draining. http-app.ts handles the requests.
//
// A drain refuses requests to slices immediately, but the server's own routes keep working until `close`, so that
// probes get a 503 with the reason, and not a refused connection, while requests in flight finish.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Address, Clock } from '@syncline/kernel';
import type { TlsCredentials } from '../config/server-config.js';
import { ConnectionCount } from '../connection-count.js';
import { countSockets } from '../counted-sockets.js';
import type { ListeningAddress, ServerListener } from '../listener.js';
import { listenOn } from '../node-listen.js';
import { answerClientError, clientErrorOf } from './client-error.js';
import { createHttpApp, type HttpAppDeps } from './http-app.js';
import { InFlight } from './in-flight.js';
import { createNodeHttpServer, type HttpTimeouts } from './node-http-server.js';
import type { ServerRoute } from './route-table.js';
import { boundUnreadBody } from './unread-body.js';

export interface HttpListenerOptions {
  readonly address: Address;
  readonly tls: TlsCredentials | undefined;
  readonly connectionsMax: number;
  readonly timeouts: HttpTimeouts;
  readonly routes: readonly ServerRoute[];
}

export async function openHttpListener(
  deps: HttpAppDeps,
  options: HttpListenerOptions,
): Promise<HttpListener> {
  const { connectionsMax, routes } = options;
  const count = new ConnectionCount(deps, { listener: 'http', connectionsMax });
  const inFlight = new InFlight({ count, limits: deps.limits });
  /** Sockets whose request was answered before it was complete: its remaining bytes must get no second answer. */
  const answered = new WeakSet<Socket>();
  const app = createHttpApp(deps, {
    routes,
    createServer: (handler) =>
      createNodeHttpServer((request, response) => {
        if (!inFlight.add(request, response)) return;
        response.once('finish', () => {
          if (request.complete) return;
          answered.add(request.socket);
          request.once('end', () => answered.delete(request.socket));
        });
        boundUnreadBody(request, response, () => cutBody(deps, count));
        handler(request, response);
      }, options),
    onClientError: (systemCode, socket) => {
      if (answered.has(socket) || inFlight.isAnswering(socket)) return void socket.destroy();
      refuseBytes(deps, count, systemCode, socket);
    },
  });
  await app.ready();
  const { server } = app;
  const sockets = countSockets(server, count, (socket) => !inFlight.has(socket));
  server.on('timeout', (socket: Socket) => {
    if (!inFlight.isBetweenRequests(socket)) return;
    count.cut('idle');
    socket.destroy();
  });
  watchForStalls(server, options.timeouts.stallTimeoutMs, deps.clock, (socket) => {
    count.cut(inFlight.has(socket) ? 'stalled' : 'idle');
    socket.destroy();
  });
  server.on(options.tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    const unsent = deps.unsent.connection(() => {
      count.cut('stalled');
      socket.destroy();
    });
    // `watchForStalls` has its own timeout for clients that do not read.
    unsent.add({ bytes: () => inFlight.unsentBytes(socket), mayStall: true });
    socket.once('close', () => unsent.close());
  });
  const address = await listenOn(server, options.address, deps.logger);
  return new HttpListener({ server, sockets, inFlight }, address);
}

interface HttpListenerParts {
  readonly server: Server;
  readonly sockets: ReadonlySet<Socket>;
  readonly inFlight: InFlight;
}

class HttpListener implements ServerListener {
  readonly address: ListeningAddress;
  readonly #parts: HttpListenerParts;

  constructor(parts: HttpListenerParts, address: Address) {
    this.#parts = parts;
    this.address = { listener: 'http', ...address };
  }

  /** Requests have been refused since the draining signal fired; this waits for earlier ones. */
  drain(signal: AbortSignal): Promise<void> {
    return this.#parts.inFlight.settled(signal);
  }

  /** Stops accepting connections. Open ones are closed after their pending responses, or when the signal fires. */
  async close(signal: AbortSignal): Promise<void> {
    const { server, sockets, inFlight } = this.#parts;
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
    await inFlight.settled(signal);
    // The remaining ones are idle, in a handshake, or have sent only part of a request.
    for (const socket of sockets) socket.destroy();
    await closed;
  }
}

/** How often an idle socket is checked within the stall timeout. */
const CHECKS_PER_STALL = 6;

/**
 * Node emits `timeout` if no bytes were transferred since its last check, but its first check after a write only
 * records how much is left. With one check per timeout, a stalled client could take twice as long. So Node checks
 * six times as often, and we measure how long nothing was transferred.
 */
function watchForStalls(
  server: Server,
  stallTimeoutMs: number,
  clock: Clock,
  onStalled: (socket: Socket) => void,
): void {
  const checkMs = stallTimeoutMs / CHECKS_PER_STALL;
  const quiet = new WeakMap<Socket, { sinceMs: number; seenAtMs: number; bytes: number }>();
  server.timeout = checkMs;
  server.on('timeout', (socket: Socket) => {
    if (socket.destroyed) return; // it was idle
    const nowMs = clock.monotonicMs();
    const bytes = socket.bytesRead + socket.bytesWritten;
    const known = quiet.get(socket);
    // A longer pause between two checks means that Node saw bytes leave in between.
    const wasQuiet = known?.bytes === bytes && nowMs - known.seenAtMs < 1.5 * checkMs;
    const sinceMs = wasQuiet ? known.sinceMs : nowMs - checkMs;
    if (nowMs - sinceMs >= stallTimeoutMs - checkMs / 2) return onStalled(socket);
    quiet.set(socket, { sinceMs, seenAtMs: nowMs, bytes });
    socket.setTimeout(checkMs);
  });
}

function cutBody(deps: HttpAppDeps, count: ConnectionCount): void {
  deps.limits.reached('server', 'httpBodyBytesMax');
  count.cut('session');
}

function refuseBytes(
  deps: HttpAppDeps,
  count: ConnectionCount,
  systemCode: string,
  socket: Socket,
): void {
  const failure = clientErrorOf(systemCode);
  if (failure === undefined) return void socket.destroy();
  if (failure.limit !== undefined) deps.limits.reached('server', failure.limit);
  if (failure.status === 408) count.cut('stalled');
  answerClientError(socket, failure);
}
