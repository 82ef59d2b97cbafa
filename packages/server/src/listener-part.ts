// A listener in the server's lifecycle: opened on start, announced once it accepts connections, closed on stop.
import type { LifecyclePart } from '@syncline/kernel';
import type { ListenerName, ListeningAddress, ServerListener } from './listener.js';

export interface ListenerPartDeps {
  open(): Promise<ServerListener>;
  /** Called when it accepts connections. */
  opened(address: ListeningAddress): void;
}

export class ListenerPart implements LifecyclePart {
  readonly name: ListenerName;
  readonly #deps: ListenerPartDeps;
  #listener: ServerListener | undefined;

  constructor(deps: ListenerPartDeps, name: ListenerName) {
    this.#deps = deps;
    this.name = name;
  }

  async start(): Promise<void> {
    const listener = await this.#deps.open();
    try {
      this.#deps.opened(listener.address);
    } catch (thrown) {
      await listener.close(AbortSignal.abort());
      throw thrown;
    }
    this.#listener = listener;
  }

  async drain(signal: AbortSignal): Promise<void> {
    await this.#listener?.drain(signal);
  }

  async stop(signal: AbortSignal): Promise<void> {
    await this.#listener?.close(signal);
  }
}
