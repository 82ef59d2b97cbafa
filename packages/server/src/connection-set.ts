// The open connections of a listener, so that a drain can wait for them and then close the remaining ones.
import type { Connection } from '@syncline/kernel';
import type { ConnectionCount } from './connection-count.js';

export class ConnectionSet {
  readonly #count: ConnectionCount;
  readonly #open = new Set<Connection>();
  #whenEmpty: (() => void)[] = [];

  constructor(count: ConnectionCount) {
    this.#count = count;
  }

  /** Returns false if the limit is reached. A connection is removed when it closes. */
  add(connection: Connection): boolean {
    if (!this.#count.opened()) return false;
    this.#count.accepted();
    this.#open.add(connection);
    void connection.closed.then(() => this.#remove(connection));
    return true;
  }

  /** Resolves when all connections are closed. When the signal fires, the remaining ones are closed forcibly. */
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
