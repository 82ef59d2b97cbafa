// Opening a simulated connection: a packet goes out, an answer comes back, and each may be slow, get stuck in a
// partition or find no listener. The two operating systems open the connection; the processes are notified
// afterwards.
import type { Timer } from '../../clock.js';
import { abortedError, type SynclineError } from '../../error.js';
import { kernelLimits } from '../../limits.js';
import { formatAddress } from '../../network/address.js';
import type { Address, Connection } from '../../network/network.js';
import { connectError, connectTimeoutError } from '../../network/network-error.js';
import type { ProcessLife } from '../process-life.js';
import type { Fabric } from './fabric.js';
import { Pipe } from './pipe.js';
import { SimConnection } from './sim-connection.js';
import type { SimListener } from './sim-listener.js';

export interface DialDeps {
  readonly fabric: Fabric;
  readonly life: ProcessLife;
  /** As the caller gave it. */
  readonly address: Address;
  /** The target machine. */
  readonly target: string;
}

export class Dial {
  readonly #deps: DialDeps;
  #isOver = false;
  #timeout: Timer | undefined;
  #stopWaiting: () => void = () => {};
  #resolve: (connection: Connection) => void = () => {};
  #reject: (error: SynclineError) => void = () => {};

  constructor(deps: DialDeps) {
    this.#deps = deps;
  }

  start(signal: AbortSignal | undefined): Promise<Connection> {
    const { fabric, life, address, target } = this.#deps;
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      if (signal !== undefined) this.#listenTo(signal);
      if (this.#isOver) return;
      if (!fabric.hasMachine(target)) {
        this.#answer(() => this.#refuse('ENOTFOUND'));
        return;
      }
      const timeoutMs = kernelLimits.connectTimeoutMs.value;
      this.#timeout = fabric.scheduler.after(timeoutMs, {
        kind: 'timeout',
        subject: this.#subject(),
        owner: life,
        run: () => this.#fail(connectTimeoutError(address, timeoutMs)),
      });
      this.#knock();
    });
  }

  /** The first packet. Lost while the link is closed, and resent when it opens. */
  #knock(): void {
    const { fabric, life, target } = this.#deps;
    const link = fabric.link(life.nodeName, target);
    const run = () => {
      if (this.#isOver) return;
      if (link.isOpen) this.#arriveAtTarget();
      else link.whenOpen(() => this.#knock());
    };
    fabric.scheduler.after(link.delayMs(), { kind: 'connect', subject: this.#subject(), run });
  }

  #arriveAtTarget(): void {
    const { fabric, life, address, target } = this.#deps;
    const listener = fabric.listeners.get(`${target}:${address.port}`);
    const link = fabric.link(life.nodeName, target);
    const isReachable =
      listener !== undefined && (!listener.isLoopback || life.nodeName === target);
    if (!isReachable || link.happens(link.profile.refuseProbability)) {
      this.#answer(() => this.#refuse('ECONNREFUSED'));
    } else {
      const ours = this.#open(listener);
      this.#answer(() => this.#succeed(ours));
    }
  }

  /** Both systems know the connection from here on. Returns our side. */
  #open(listener: SimListener): SimConnection {
    const { fabric, life, address, target } = this.#deps;
    const { scheduler } = fabric;
    const here: Address = { host: life.nodeName, port: fabric.freePort() };
    const there: Address = { host: address.host, port: address.port };
    const ours = new SimConnection({
      scheduler,
      life,
      local: here,
      remote: there,
      peerUris: fabric.urisOf(target),
    });
    const theirs = new SimConnection({
      scheduler,
      life: listener.life,
      local: there,
      remote: here,
      peerUris: fabric.urisOf(life.nodeName),
    });
    const link = fabric.link(life.nodeName, target);
    const back = fabric.link(target, life.nodeName);
    const label = `${life.nodeName}:${here.port}>${target}:${there.port}`;
    const going = { scheduler, link, back, sender: ours.side, receiver: theirs.side, label };
    const coming = {
      scheduler,
      link: back,
      back: link,
      sender: theirs.side,
      receiver: ours.side,
      label: `${target}:${there.port}>${life.nodeName}:${here.port}`,
    };
    const out = new Pipe(going);
    const incoming = new Pipe(coming);
    ours.attach({ out, in: incoming });
    theirs.attach({ out: incoming, in: out });
    fabric.track(ours, life);
    fabric.track(theirs, listener.life);
    const run = () => listener.offer(theirs);
    scheduler.after(0, { kind: 'accept', subject: label, owner: listener.life, run });
    return ours;
  }

  /** The reply. It may get stuck as well. */
  #answer(run: () => void): void {
    const { fabric, life, target } = this.#deps;
    const back = fabric.link(target, life.nodeName);
    const arrive = () => {
      if (back.isOpen) run();
      else back.whenOpen(() => this.#answer(run));
    };
    const work = { kind: 'connected', subject: this.#subject(), owner: life, run: arrive };
    fabric.scheduler.after(back.delayMs(), work);
  }

  #succeed(connection: SimConnection): void {
    if (this.#isOver) {
      connection.destroy();
      return;
    }
    this.#end();
    this.#resolve(connection);
  }

  #refuse(code: 'ECONNREFUSED' | 'ENOTFOUND'): void {
    const cause = Object.assign(new Error(`${code} (simulated)`), { code });
    this.#fail(connectError(this.#deps.address, cause));
  }

  #fail(error: SynclineError): void {
    if (this.#isOver) return;
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    this.#isOver = true;
    this.#timeout?.cancel();
    this.#stopWaiting();
  }

  #listenTo(signal: AbortSignal): void {
    const abort = () =>
      this.#fail(abortedError(`connecting to ${formatAddress(this.#deps.address)}`, signal));
    signal.addEventListener('abort', abort);
    this.#stopWaiting = () => signal.removeEventListener('abort', abort);
    if (signal.aborted) abort();
  }

  #subject(): string {
    return `${this.#deps.life.nodeName}>${formatAddress(this.#deps.address)}`;
  }
}
