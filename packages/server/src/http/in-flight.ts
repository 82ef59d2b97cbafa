// Tracks requests in flight: a drain waits for them, and a timeout uses them to tell a stalled client from an
// idle connection.
//
// A client may pipeline requests. Node starts them all immediately, but only the first response is attached to
// the socket; the others are queued, and Node does not close them when the socket closes. So they are tracked by
// the socket of the request, limited, and closed here.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionCount } from '../connection-count.js';
import type { LimitWatch } from '../limit-watch.js';
import { serverLimits } from '../limits.js';

export interface InFlightDeps {
  readonly count: ConnectionCount;
  readonly limits: LimitWatch;
}

export class InFlight {
  readonly #deps: InFlightDeps;
  readonly #bySocket = new Map<Socket, Set<ServerResponse>>(); // until the socket closes
  #responsesCount = 0;
  #whenEmpty: (() => void)[] = [];

  constructor(deps: InFlightDeps) {
    this.#deps = deps;
  }

  /** Returns false if there is no client to answer: it disconnected, or was cut for too many requests. */
  add({ socket }: IncomingMessage, response: ServerResponse): boolean {
    if (socket.destroyed) return false; // pipelined behind the request for which the connection was cut
    const responses = this.#responsesOf(socket);
    if (responses.size >= serverLimits.httpRequestsPerConnectionMax.value) {
      this.#deps.limits.reached('server', 'httpRequestsPerConnectionMax');
      this.#deps.count.cut('session');
      socket.destroy();
      return false;
    }
    responses.add(response);
    this.#responsesCount += 1;
    response.once('close', () => this.#remove(responses, response));
    return true;
  }

  /** Bytes of responses that the client has not read, including queued ones. */
  unsentBytes(socket: Socket): number {
    let bytes = socket.writableLength;
    for (const response of this.#bySocket.get(socket) ?? [])
      if (response.socket === null) bytes += response.writableLength;
    return bytes;
  }

  has(socket: Socket): boolean {
    return (this.#bySocket.get(socket)?.size ?? 0) > 0;
  }

  /** Whether there was at least one request, and all have been answered. */
  isBetweenRequests(socket: Socket): boolean {
    return this.#bySocket.get(socket)?.size === 0;
  }

  /** Whether a response has started: another one would be written into its body. */
  isAnswering(socket: Socket): boolean {
    return [...(this.#bySocket.get(socket) ?? [])].some(({ headersSent }) => headersSent);
  }

  /** Resolves when nothing is in flight. When the signal fires, the remaining connections are closed. */
  async settled(signal: AbortSignal): Promise<void> {
    if (this.#responsesCount === 0) return;
    const empty = new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
    const cutAll = (): void => this.#cutAll();
    if (signal.aborted) cutAll();
    else signal.addEventListener('abort', cutAll, { once: true });
    await empty;
    signal.removeEventListener('abort', cutAll);
  }

  #responsesOf(socket: Socket): Set<ServerResponse> {
    const known = this.#bySocket.get(socket);
    if (known !== undefined) return known;
    const responses = new Set<ServerResponse>();
    this.#bySocket.set(socket, responses);
    socket.once('close', () => {
      this.#bySocket.delete(socket);
      for (const response of responses) closeQueued(response);
    });
    return responses;
  }

  #cutAll(): void {
    for (const [socket, responses] of this.#bySocket) {
      if (responses.size === 0) continue;
      this.#deps.count.cut('drain');
      socket.destroy();
    }
  }

  #remove(responses: Set<ServerResponse>, response: ServerResponse): void {
    if (!responses.delete(response)) return;
    this.#responsesCount -= 1;
    if (this.#responsesCount > 0) return;
    for (const resolve of this.#whenEmpty) resolve();
    this.#whenEmpty = [];
  }
}

/** Closes a queued response. Node itself closes the one that is attached to the socket. */
function closeQueued(response: ServerResponse): void {
  if (response.socket !== null) return;
  response.destroy();
  response.emit('close');
}
