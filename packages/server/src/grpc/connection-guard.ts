// Limits what gRPC connections may do before one of their calls has presented the token. grpc-js has no hook per
// connection, so calls are matched to their socket by the peer's address and port.
//
// A client can open and reset streams far faster than we can refuse them (HTTP/2 rapid reset). An unauthenticated
// connection that opens too many is cut, which counts as several wrong guesses by its address. Streams are counted
// below grpc-js, which answers unknown methods without calling an interceptor. When the listener is nearly full,
// connections that have been unauthenticated for a few seconds are closed to make room.
import type {
  Http2Server,
  IncomingHttpHeaders,
  ServerHttp2Session,
  ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { assert, type Clock, type Timer } from '@syncline/kernel';
import type { GuessBudget } from '../auth/guess-budget.js';
import type { ConnectionCount } from '../connection-count.js';
import { peerOf } from '../counted-sockets.js';
import type { LimitWatch } from '../limit-watch.js';
import { serverLimits } from '../limits.js';
import type { UnsentConnection, UnsentWatch } from '../unsent-watch.js';

const SWEEP_MS = 1_000;
/** Above this fraction of the connection limit, unauthenticated connections are closed. */
const CROWDED_FRACTION = 0.8;
/** How many wrong guesses it counts as if a connection is cut for opening too many streams. */
const CUT_WEIGHT = 10;
/** Streams that a connection opens in one turn of the event loop and that are handled in it. */
const STREAMS_AT_ONCE = 32;

export interface ConnectionGuardDeps {
  readonly clock: Clock;
  readonly limits: LimitWatch;
  readonly guesses: GuessBudget;
  readonly count: ConnectionCount;
  readonly unsent: UnsentWatch;
}

interface Watched {
  readonly socket: Socket;
  readonly unsent: UnsentConnection;
  readonly openedAtMs: number;
  isTrusted: boolean;
  /** Streams opened, minus the allowance for the elapsed time. */
  streams: number;
  streamedAtMs: number;
}

export class ConnectionGuard {
  readonly #deps: ConnectionGuardDeps;
  readonly #byPeer = new Map<string, Watched>();
  #timer: Timer | undefined;

  constructor(deps: ConnectionGuardDeps) {
    this.#deps = deps;
    this.#sweepLater();
  }

  /** Returns false and closes the socket if its address is blocked. */
  opened(socket: Socket): boolean {
    const { clock, guesses } = this.#deps;
    if (guesses.isBlocked(socket.remoteAddress)) {
      socket.destroy();
      return false;
    }
    const nowMs = clock.monotonicMs();
    const peer = peerOf(socket);
    const unsent = this.#deps.unsent.connection(() => {
      this.#deps.count.cut('stalled');
      socket.destroy();
    });
    this.#byPeer.set(peer, {
      socket,
      unsent,
      openedAtMs: nowMs,
      isTrusted: false,
      streams: 0,
      streamedAtMs: nowMs,
    });
    socket.once('close', () => {
      this.#byPeer.delete(peer);
      unsent.close();
    });
    return true;
  }

  /** Undefined if the connection has ended. */
  unsentOf(peer: string): UnsentConnection | undefined {
    return this.#byPeer.get(peer)?.unsent;
  }

  /** A call presented the right token, or none is required. */
  trusted(peer: string): void {
    const watched = this.#byPeer.get(peer);
    if (watched !== undefined) watched.isTrusted = true;
  }

  /** A call sent a wrong token. */
  guessed(peer: string): void {
    this.#deps.guesses.failed('grpc', this.#byPeer.get(peer)?.socket.remoteAddress);
  }

  isBlocked(peer: string): boolean {
    return this.#deps.guesses.isBlocked(this.#byPeer.get(peer)?.socket.remoteAddress);
  }

  /**
   * Counts the streams of each connection and their unsent bytes. grpc-js keeps its HTTP/2 servers in this
   * field. `mayStall` says whether the stream of a path is filled only as fast as it is read.
   */
  watchStreams(server: object, mayStall: (path: string) => boolean): void {
    const servers = (server as { readonly http2Servers?: ReadonlyMap<Http2Server, unknown> })
      .http2Servers;
    assert(servers !== undefined && servers.size > 0, 'grpc-js keeps its servers in http2Servers');
    const { clock } = this.#deps;
    for (const http2 of servers.keys()) {
      const handle = takeOverStreams(http2);
      http2.on('session', (session: ServerHttp2Session) => {
        const { socket } = session;
        const peer = peerOf(socket);
        let openedInTurn = 0;
        session.on('stream', (stream, ...rest) => {
          this.#streamed(peer);
          if (socket.destroyed) return void stream.on('error', () => undefined).destroy();
          const begin = (): void => {
            const unwatch = this.unsentOf(peer)?.add({
              bytes: () => stream.bufferSize,
              mayStall: mayStall(String(rest[0][':path'])),
            });
            if (unwatch) stream.once('close', unwatch);
            handle(stream, ...rest);
          };
          openedInTurn += 1;
          if (openedInTurn === 1) clock.defer(() => (openedInTurn = 0));
          if (openedInTurn <= STREAMS_AT_ONCE) return begin();
          // One read brings hundreds of streams that are opened and reset again: by then, the resets were read, too.
          stream.on('error', () => undefined); // the code of the reset
          clock.defer(() => (isOver(stream) ? stream.destroy() : begin()));
        });
      });
    }
  }

  #streamed(peer: string): void {
    const watched = this.#byPeer.get(peer);
    if (watched === undefined || watched.isTrusted) return;
    const { clock, limits, guesses, count } = this.#deps;
    const perSecondMax = serverLimits.grpcUnauthenticatedStreamsPerSecondMax.value;
    const nowMs = clock.monotonicMs();
    const allowed = ((nowMs - watched.streamedAtMs) / 1_000) * perSecondMax;
    watched.streams = Math.max(0, watched.streams - allowed) + 1;
    watched.streamedAtMs = nowMs;
    if (watched.streams <= perSecondMax || watched.socket.destroyed) return;
    limits.reached('server', 'grpcUnauthenticatedStreamsPerSecondMax');
    guesses.failed('grpc', watched.socket.remoteAddress, CUT_WEIGHT);
    count.cut('session');
    watched.socket.destroy();
  }

  close(): void {
    this.#timer?.cancel();
  }

  #sweepLater(): void {
    this.#timer = this.#deps.clock.setTimer(SWEEP_MS, () => this.#sweep(), { unref: true });
  }

  #sweep(): void {
    const { clock, limits, count } = this.#deps;
    this.#sweepLater();
    if (this.#byPeer.size < CROWDED_FRACTION * count.connectionsMax) return;
    const nowMs = clock.monotonicMs();
    for (const { socket, openedAtMs, isTrusted } of this.#byPeer.values()) {
      if (isTrusted || nowMs - openedAtMs < serverLimits.grpcUnauthenticatedMs.value) continue;
      limits.reached('server', 'grpcUnauthenticatedMs');
      count.cut('idle');
      socket.destroy();
    }
  }
}

type StreamHandler = (stream: ServerHttp2Stream, ...rest: StreamRest) => void;
type StreamRest = [headers: IncomingHttpHeaders, flags: number];

/** Passes streams to grpc-js, which no longer gets them by itself: it spends several times as much on each as Node. */
function takeOverStreams(http2: Http2Server): StreamHandler {
  const listeners = http2.listeners('stream');
  assert(listeners.length > 0, 'grpc-js listens for streams');
  http2.removeAllListeners('stream');
  http2.on('stream', () => undefined); // without a listener, Node would refuse them
  return (...stream) => {
    for (const listener of listeners) listener.apply(http2, stream);
  };
}

/** The client has reset the stream, or its connection is closed: no reply can be delivered. */
function isOver(stream: ServerHttp2Stream): boolean {
  return stream.closed || stream.destroyed || stream.session?.destroyed !== false;
}
