// The requests that are being answered: a drain waits for them, and a timeout asks whether a socket
// was waiting for its client or only idle.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionCount } from '../connection-count.js';

export class InFlight {
  readonly #count: ConnectionCount;
  readonly #responses = new Map<Socket, number>();
  #whenEmpty: (() => void)[] = [];

  constructor(count: ConnectionCount) {
    this.#count = count;
  }

  add(response: ServerResponse): void {
    const { socket } = response;
    if (socket === null) return; // gone already
    this.#responses.set(socket, (this.#responses.get(socket) ?? 0) + 1);
    response.once('close', () => this.#remove(socket));
  }

  has(socket: Socket): boolean {
    return this.#responses.has(socket);
  }

  /** Resolves when nothing is in flight; when the signal fires, the rest is cut with its connection. */
  async settled(signal: AbortSignal): Promise<void> {
    if (this.#responses.size === 0) return;
    const empty = new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
    const cutAll = (): void => this.#cutAll();
    if (signal.aborted) cutAll();
    else signal.addEventListener('abort', cutAll, { once: true });
    await empty;
    signal.removeEventListener('abort', cutAll);
  }

  #cutAll(): void {
    for (const socket of this.#responses.keys()) {
      this.#count.cut('drain');
      socket.destroy();
    }
  }

  #remove(socket: Socket): void {
    const left = (this.#responses.get(socket) ?? 1) - 1;
    if (left > 0) this.#responses.set(socket, left);
    else this.#responses.delete(socket);
    if (this.#responses.size > 0) return;
    for (const resolve of this.#whenEmpty) resolve();
    this.#whenEmpty = [];
  }
}
