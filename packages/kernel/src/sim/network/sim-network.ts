// The Network port of one simulated process.
import type { Address, Connection, Listener, Network } from '../../network/network.js';
import { listenError } from '../../network/network-error.js';
import type { ProcessLife } from '../process-life.js';
import { Dial } from './dial.js';
import type { Fabric } from './fabric.js';
import { SimListener } from './sim-listener.js';

const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);
const ANY_HOSTS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

export class SimNetwork implements Network {
  readonly #fabric: Fabric;
  readonly #life: ProcessLife;

  constructor(deps: { readonly fabric: Fabric; readonly life: ProcessLife }) {
    this.#fabric = deps.fabric;
    this.#life = deps.life;
  }

  listen(address: Address, accept: (connection: Connection) => void): Promise<Listener> {
    if (this.#life.isDead) return this.#life.never();
    return new Promise((resolve, reject) => {
      this.#soon('listen', () => {
        const code = this.#listenProblem(address);
        if (code === undefined) resolve(this.#startListening(address, accept));
        else
          reject(listenError(address, Object.assign(new Error(`${code} (simulated)`), { code })));
      });
    });
  }

  connect(address: Address, options: { readonly signal?: AbortSignal } = {}): Promise<Connection> {
    if (this.#life.isDead) return this.#life.never();
    const { nodeName } = this.#life;
    const isLoopback = LOOPBACK_HOSTS.has(address.host);
    const target = isLoopback ? nodeName : address.host;
    const dial = { fabric: this.#fabric, life: this.#life, address, target };
    return new Dial(dial).start(options.signal);
  }

  #listenProblem({ host, port }: Address): 'EADDRINUSE' | 'EADDRNOTAVAIL' | undefined {
    const isOurs = LOOPBACK_HOSTS.has(host) || ANY_HOSTS.has(host) || host === this.#life.nodeName;
    if (!isOurs) return 'EADDRNOTAVAIL';
    return this.#fabric.listeners.has(this.#key(port)) ? 'EADDRINUSE' : undefined;
  }

  #startListening({ host, port }: Address, accept: (connection: Connection) => void): Listener {
    const actualPort = port === 0 ? this.#fabric.freePort() : port;
    const key = this.#key(actualPort);
    const listener = new SimListener({
      life: this.#life,
      address: { host, port: actualPort },
      isLoopback: LOOPBACK_HOSTS.has(host),
      accept,
      onClose: () => {
        if (this.#fabric.listeners.get(key) === listener) this.#fabric.listeners.delete(key);
      },
    });
    this.#fabric.listeners.set(key, listener);
    return listener;
  }

  #key(port: number): string {
    return `${this.#life.nodeName}:${port}`;
  }

  #soon(kind: string, run: () => void): void {
    const owner = this.#life;
    this.#fabric.scheduler.after(0, { kind, subject: owner.nodeName, owner, run });
  }
}
