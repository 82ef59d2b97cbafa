// The HTTP listener: accepts, counts, times out and drains. What is answered is http-app.ts.
//
// A drain refuses new work at once, but the server's own routes stay up until `close`, so that a
// probe sees 503 with the reason while requests finish, and not a refused connection.
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
  /** Answered before their request was complete, so that the rest gets no second answer. */
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
  const sockets = countSockets(server, count);
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
    // `watchForStalls` cuts a silent client after its own time.
    unsent.add({ bytes: () => inFlight.unsentBytes(socket), isPatient: true });
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

  /** New work has been refused since the draining signal fired; this waits for earlier requests. */
  drain(signal: AbortSignal): Promise<void> {
    return this.#parts.inFlight.settled(signal);
  }

  /** Stops accepting. Connections end after their pending answers, or when the signal fires. */
  async close(signal: AbortSignal): Promise<void> {
    const { server, sockets, inFlight } = this.#parts;
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
    await inFlight.settled(signal);
    // The rest is idle, in a handshake or has sent half a request: nothing was promised to it.
    for (const socket of sockets) socket.destroy();
    await closed;
  }
}

/** How often Node checks an idle socket within the timeout. */
const LOOKS_PER_STALL = 6;

/**
 * Node emits `timeout` when nothing has moved since its last check; the first check after a write only records
 * how much is left, so a single check per timeout would take twice as long. It checks six times as often
 * instead, and we measure how long nothing has moved.
 */
function watchForStalls(
  server: Server,
  stallTimeoutMs: number,
  clock: Clock,
  onStalled: (socket: Socket) => void,
): void {
  const lookMs = stallTimeoutMs / LOOKS_PER_STALL;
  const quiet = new WeakMap<Socket, { sinceMs: number; seenAtMs: number; bytes: number }>();
  server.timeout = lookMs;
  server.on('timeout', (socket: Socket) => {
    if (socket.destroyed) return; // it was idle
    const nowMs = clock.monotonicMs();
    const bytes = socket.bytesRead + socket.bytesWritten;
    const known = quiet.get(socket);
    // A longer pause between two checks means that Node saw bytes leave in between.
    const wasQuiet = known?.bytes === bytes && nowMs - known.seenAtMs < 1.5 * lookMs;
    const sinceMs = wasQuiet ? known.sinceMs : nowMs - lookMs;
    if (nowMs - sinceMs >= stallTimeoutMs - lookMs / 2) return onStalled(socket);
    quiet.set(socket, { sinceMs, seenAtMs: nowMs, bytes });
    socket.setTimeout(lookMs);
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
