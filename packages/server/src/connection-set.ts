// The open connections of a listener, so that a drain can wait for them and cut the rest.
import type { Connection } from '@syncline/kernel';
import type { ConnectionCount } from './connection-count.js';

export class ConnectionSet {
  readonly #count: ConnectionCount;
  readonly #open = new Set<Connection>();
  #whenEmpty: (() => void)[] = [];

  constructor(count: ConnectionCount) {
    this.#count = count;
  }

  /** False when there are too many. It leaves by itself when it is closed. */
  add(connection: Connection): boolean {
    if (!this.#count.opened()) return false;
    this.#count.taken();
    this.#open.add(connection);
    void connection.closed.then(() => this.#remove(connection));
    return true;
  }

  /** Resolves when none is left; when the signal fires the rest is cut. */
  async emptied(signal: AbortSignal): Promise<void> {
    if (this.#open.size === 0) return;
    const empty = new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
    const cutAll = (): void => this.cutAll();
    if (signal.aborted) cutAll();
    else signal.addEventListener('abort', cutAll, { once: true });
    await empty;
    signal.removeEventListener('abort', cutAll);
  }

  cutAll(): void {
    for (const connection of this.#open) {
      this.#count.cut('drain');
      connection.destroy();
    }
  }

  #remove(connection: Connection): void {
    this.#open.delete(connection);
    this.#count.closed();
    if (this.#open.size > 0) return;
    for (const resolve of this.#whenEmpty) resolve();
    this.#whenEmpty = [];
  }
}
