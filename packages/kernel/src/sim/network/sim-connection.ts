// The Connection port: one side of a simulated connection.
//
// Everything that happens to it is an event owned by its process, so a paused process is notified later and a
// dead one never.
import { assert } from '../../assert.js';
import { SynclineError } from '../../error.js';
import { kernelLimits } from '../../limits.js';
import { formatAddress } from '../../network/address.js';
import { DrainWaiters } from '../../network/drain-waiters.js';
import type { Address, ChunkReader, CloseReason, Connection } from '../../network/network.js';
import { connectionError } from '../../network/network-error.js';
import { Arrivals } from '../../network/socket-connection.js';
import type { ProcessLife } from '../process-life.js';
import type { Scheduler } from '../scheduler.js';
import type { BreakCode, Pipe, PipeEnd } from './pipe.js';

export interface SimConnectionDeps {
  readonly scheduler: Scheduler;
  readonly life: ProcessLife;
  readonly local: Address;
  readonly remote: Address;
  readonly peerUris: readonly string[];
}

export interface PipePair {
  readonly out: Pipe;
  readonly in: Pipe;
}

export class SimConnection implements Connection {
  readonly local: Address;
  readonly remote: Address;
  readonly peerUris: readonly string[];
  readonly closed: Promise<CloseReason>;
  readonly incoming: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => this.#arrivals.pull(),
  };
  /** Called by the pipes. */
  readonly side: PipeEnd;

  readonly #scheduler: Scheduler;
  readonly #life: ProcessLife;
  readonly #drainWaiters = new DrainWaiters();
  /** Bounded by the window of the pipe that fills it. */
  readonly #arrivals = new Arrivals((chunk) => this.#pipes.in.consumed(chunk.length));
  #attached: PipePair | undefined;
  #resolveClosed: (reason: CloseReason) => void = () => {};
  #failure: SynclineError | undefined;
  #isClosed = false;
  #isDrainAwaited = false;
  #sending: 'open' | 'ending' | 'finished' = 'open';
  #hasPeerEnded = false;

  constructor(deps: SimConnectionDeps) {
    this.local = deps.local;
    this.remote = deps.remote;
    this.peerUris = deps.peerUris;
    this.#scheduler = deps.scheduler;
    this.#life = deps.life;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.side = {
      life: deps.life,
      taken: () => this.#wakeDrained(),
      finished: () => this.#finish(),
      arrived: (bytes) => {
        const lent = new Uint8Array(bytes);
        this.#arrivals.offer(lent, true);
        lent.fill(0xff); // catches a borrowing reader that keeps them
      },
      ended: () => this.#peerEnded(),
      broken: (code) => this.#break(code),
    };
  }

  /** A side is made before the pipes, which need to know both sides. */
  attach(pipes: PipePair): void {
    this.#attached = pipes;
  }

  readBy(reader: ChunkReader): void {
    this.#arrivals.handTo(reader);
  }

  get unsentBytes(): number {
    return this.#isClosed ? 0 : this.#pipes.out.unsentBytes;
  }

  write(chunk: Uint8Array): boolean {
    if (this.#isClosed || this.#sending !== 'open' || this.#life.isDead) return false;
    this.#pipes.out.take(chunk);
    return this.#isDrained();
  }

  drained(signal?: AbortSignal): Promise<void> {
    if (this.#life.isDead) return this.#life.never();
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#sending !== 'open') return Promise.reject(this.#closedError('was ended'));
    if (this.#isDrained()) return Promise.resolve();
    this.#isDrainAwaited = true;
    return this.#drainWaiters.wait(signal);
  }

  end(): void {
    if (this.#isClosed || this.#sending !== 'open' || this.#life.isDead) return;
    this.#sending = 'ending';
    this.#drainWaiters.settle(this.#closedError('was ended'));
    this.#pipes.out.end();
  }

  destroy(reason?: Error): void {
    if (this.#isClosed || this.#life.isDead) return;
    this.#arrivals.drop();
    this.#pipes.out.leave('reset');
    this.#close(SynclineError.from(reason ?? this.#closedError('was destroyed'), 'closed'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.destroy();
    await this.closed;
  }

  /** The process was killed: its system closes the connection for it. */
  kill(last: 'end' | 'reset'): void {
    this.#pipes.out.leave(last);
    this.#pipes.in.receiverLeft();
  }

  /** The machine lost power: the other side is not notified. */
  vanish(): void {
    this.#pipes.out.vanish();
    this.#pipes.in.receiverVanished();
  }

  /** The connection is cut from outside. */
  cut(): void {
    this.#pipes.out.breakNow();
  }

  get #pipes(): PipePair {
    assert(this.#attached !== undefined, 'a connection is used after its pipes were attached');
    return this.#attached;
  }

  #isDrained(): boolean {
    return this.#pipes.out.unsentBytes <= kernelLimits.connectionHighWaterBytes.value;
  }

  #wakeDrained(): void {
    if (!this.#isDrainAwaited || !this.#isDrained()) return;
    this.#isDrainAwaited = false;
    const run = () => this.#drainWaiters.settle();
    const subject = formatAddress(this.remote);
    this.#scheduler.after(0, { kind: 'drained', subject, owner: this.#life, run });
  }

  #finish(): void {
    this.#sending = 'finished';
    this.#closeIfDone();
  }

  #peerEnded(): void {
    this.#hasPeerEnded = true;
    this.#arrivals.close();
    this.#closeIfDone();
  }

  #closeIfDone(): void {
    if (this.#sending === 'finished' && this.#hasPeerEnded) this.#close(undefined);
  }

  #break(code: BreakCode): void {
    if (this.#isClosed) return;
    const cause = Object.assign(new Error(`${code} (simulated)`), { code });
    this.#pipes.out.leave('reset');
    this.#close(connectionError(this.remote, cause));
  }

  #close(failure: SynclineError | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#failure = failure;
    this.#pipes.in.receiverLeft();
    this.#drainWaiters.settle(failure ?? this.#closedError('has ended'));
    if (failure !== undefined) this.#arrivals.fail(failure);
    this.#resolveClosed(
      failure === undefined ? { kind: 'ended' } : { kind: 'reset', error: failure },
    );
  }

  #closedError(how: string): SynclineError {
    return new SynclineError('closed', `the connection to ${formatAddress(this.remote)} ${how}`);
  }
}
