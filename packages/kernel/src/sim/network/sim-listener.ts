// A simulated listener: what accepts connections at one port of one machine.
import type { Address, Connection, Listener } from '../../network/network.js';
import type { ProcessLife } from '../process-life.js';

export interface SimListenerDeps {
  readonly life: ProcessLife;
  readonly address: Address;
  /** Only connections from the same machine reach it. */
  readonly isLoopback: boolean;
  readonly accept: (connection: Connection) => void;
  readonly onClose: () => void;
}

export class SimListener implements Listener {
  readonly address: Address;
  readonly life: ProcessLife;
  readonly isLoopback: boolean;
  readonly #accept: (connection: Connection) => void;
  readonly #onClose: () => void;
  #isOpen = true;

  constructor(deps: SimListenerDeps) {
    this.address = deps.address;
    this.life = deps.life;
    this.isLoopback = deps.isLoopback;
    this.#accept = deps.accept;
    this.#onClose = deps.onClose;
  }

  /** A connection that the system accepted before the listener was closed is dropped afterwards. */
  offer(connection: Connection): void {
    if (this.#isOpen) this.#accept(connection);
    else connection.destroy();
  }

  async close(): Promise<void> {
    if (this.life.isDead) return this.life.never();
    this.#isOpen = false;
    this.#onClose();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
