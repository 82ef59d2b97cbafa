// The requests that are being answered: a drain waits for them, and a timeout uses them to tell a stalled
// client from an idle connection.
//
// A client may send requests before it has its answers. Node starts them all immediately, but only the first
// response has the socket: the others are queued, and Node does not notify them when the socket closes. So they
// are counted by the socket of the request, limited, and notified here.
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

  /** False when there is no client to answer: the connection is gone, or was cut for too many requests. */
  add({ socket }: IncomingMessage, response: ServerResponse): boolean {
    if (socket.destroyed) return false; // what was sent along with the request that cut it
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

  /** Answers that the client has not read, including queued ones. */
  unsentBytes(socket: Socket): number {
    let bytes = socket.writableLength;
    for (const response of this.#bySocket.get(socket) ?? [])
      if (response.socket === null) bytes += response.writableLength;
    return bytes;
  }

  has(socket: Socket): boolean {
    return (this.#bySocket.get(socket)?.size ?? 0) > 0;
  }

  /** Whether every request so far is answered, and there was one. */
  isBetweenRequests(socket: Socket): boolean {
    return this.#bySocket.get(socket)?.size === 0;
  }

  /** Whether the head of an answer was sent: another answer would end up inside it. */
  isAnswering(socket: Socket): boolean {
    return [...(this.#bySocket.get(socket) ?? [])].some(({ headersSent }) => headersSent);
  }

  /** Resolves when nothing is in flight; when the signal fires, the rest is cut with its connection. */
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
      for (const response of responses) tellWaiting(response);
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

/** Node itself notifies the response that has the socket. */
function tellWaiting(response: ServerResponse): void {
  if (response.socket !== null) return;
  response.destroy();
  response.emit('close');
}
