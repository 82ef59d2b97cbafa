// A TCP proxy between real processes that degrades their network on command.
//
//   await using proxy = await startFaultProxy({ target: node.ports.mesh });
//   proxy.set({ latencyMs: 50, jitterMs: 20 });
//   proxy.set({ blackhole: true }, 'to-client');
//   proxy.heal();
//
// With a seed the delays of the n-th connection are the same in every run; when bytes arrive is not.
import {
  type Address,
  type Connection,
  createSystemClock,
  type Listener,
  type Network,
} from '@syncline/kernel';
import { createTcpNetwork, findFreePorts } from '@syncline/kernel/node';
import { createSeededRandom, type SeededRandom } from '@syncline/kernel/testing';
import { FaultLink } from './fault-link.js';
import type { ProxyDirection, ProxyFaults } from './faults.js';

export interface FaultProxyOptions {
  /** Where connections go. May be set later, so that proxies can be started before their targets. */
  readonly target?: Address;
  /** Default 127.0.0.1 and a port that no one else is given while connections are refused. */
  readonly listen?: Address;
  readonly faults?: ProxyFaults;
  /** Seed of the jitter. Default 0. */
  readonly seed?: number;
}

export interface FaultProxy extends AsyncDisposable {
  /** Where clients connect. It stays the same for the proxy's whole life. */
  readonly address: Address;
  readonly connectionCount: number;
  /** Bytes that have left the proxy, over all connections. */
  passedBytes(direction: ProxyDirection): number;
  /** Replaces the faults of this direction, or of both. */
  set(faults: ProxyFaults, direction?: ProxyDirection): void;
  /** Removes all faults. Connections affected by a black hole are reset. */
  heal(): void;
  /** For new connections. */
  setTarget(target: Address): void;
  /** Resets every connection, on both sides. */
  resetConnections(): void;
  /** Closes the port: new connections are refused, open ones are not affected. */
  refuseConnections(): Promise<void>;
  /** Opens the port again. */
  acceptConnections(): Promise<void>;
}

export async function startFaultProxy(options: FaultProxyOptions = {}): Promise<FaultProxy> {
  const [port = 0] = options.listen === undefined ? await findFreePorts(1) : [];
  const proxy = new RunningProxy({ listen: { host: '127.0.0.1', port }, ...options });
  await proxy.acceptConnections();
  return proxy;
}

/** The link between one client and the target, or a black hole. */
interface Proxied {
  reset(): void;
  faultsChanged(): void;
}

class RunningProxy implements FaultProxy {
  readonly #network: Network = createTcpNetwork();
  readonly #clock = createSystemClock();
  readonly #random: SeededRandom;
  readonly #proxied = new Map<Proxied, Promise<unknown>>();
  readonly #passedBytes = { 'to-target': 0, 'to-client': 0 };
  readonly #faults: Record<ProxyDirection, ProxyFaults>;
  #target: Address | undefined;
  #address: Address;
  #listener: Listener | undefined;
  #acceptedCount = 0;

  constructor({
    target,
    listen,
    faults = {},
    seed = 0,
  }: FaultProxyOptions & { readonly listen: Address }) {
    this.#target = target;
    this.#address = listen;
    this.#faults = { 'to-target': faults, 'to-client': faults };
    this.#random = createSeededRandom(seed);
  }

  get address(): Address {
    return this.#address;
  }

  get connectionCount(): number {
    return this.#proxied.size;
  }

  passedBytes(direction: ProxyDirection): number {
    return this.#passedBytes[direction];
  }

  set(faults: ProxyFaults, direction?: ProxyDirection): void {
    if (direction !== 'to-client') this.#faults['to-target'] = { ...faults };
    if (direction !== 'to-target') this.#faults['to-client'] = { ...faults };
    for (const proxied of this.#proxied.keys()) proxied.faultsChanged();
  }

  heal(): void {
    this.set({});
  }

  setTarget(target: Address): void {
    this.#target = target;
  }

  resetConnections(): void {
    for (const proxied of this.#proxied.keys()) proxied.reset();
  }

  async refuseConnections(): Promise<void> {
    await this.#listener?.close();
  }

  async acceptConnections(): Promise<void> {
    await this.#listener?.close();
    this.#listener = await this.#network.listen(this.#address, (client) => this.#accept(client));
    this.#address = this.#listener.address;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#listener?.close();
    this.resetConnections();
    await Promise.all(this.#proxied.values());
  }

  #accept(client: Connection): void {
    const random = this.#random.fork(`connection ${this.#acceptedCount++}`);
    if (this.#faults['to-target'].blackhole) {
      this.#discardAll(client);
      return;
    }
    const over = new AbortController();
    const reset = () => {
      over.abort();
      client.destroy();
    };
    this.#keep({ reset, faultsChanged() {} }, this.#link(client, random, over.signal));
  }

  async #link(client: Connection, random: SeededRandom, signal: AbortSignal): Promise<void> {
    const target = this.#target && (await this.#dial(this.#target, signal));
    if (!target) return client.destroy();
    const link = new FaultLink({
      client,
      target,
      clock: this.#clock,
      random,
      faults: (direction) => this.#faults[direction],
      passed: (direction, bytes) => {
        this.#passedBytes[direction] += bytes;
      },
    });
    this.#keep(link, link.run());
  }

  async #dial(target: Address, signal: AbortSignal): Promise<Connection | undefined> {
    try {
      return await this.#network.connect(target, { signal });
    } catch {
      return undefined; // the client gets a reset
    }
  }

  /** A black hole: bytes are read and discarded, and the target is never contacted. */
  #discardAll(client: Connection): void {
    const faultsChanged = () => {
      if (!this.#faults['to-target'].blackhole) client.destroy();
    };
    this.#keep({ reset: () => client.destroy(), faultsChanged }, client.closed);
    void forget(client.incoming);
  }

  #keep(proxied: Proxied, over: Promise<unknown>): void {
    this.#proxied.set(proxied, over);
    void over.finally(() => this.#proxied.delete(proxied));
  }
}

async function forget(incoming: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const _ of incoming);
  } catch {
    // a reset is forgotten too
  }
}
