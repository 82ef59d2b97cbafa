// Controls who may write. A command too large for one turn closes the gate and works in parts; other writes wait.
//
// It holds the gate for gateHoldMs at most while others wait: then those that have arrived so far are let through,
// and other large commands get their turn before it continues. So a small write waits for one hold, however many
// large commands run. The session keeps the order within a connection.
import { abortedError, type Clock, type SynclineError } from '@syncline/kernel';
import type { WriteHold } from '../keyspace.js';
import { setsLimits } from '../limits.js';
import type { LoopShare, Turns } from './turns.js';

/** Writers that are let through in one turn. */
const WRITERS_PER_TURN = 256;

export interface WriteGateDeps {
  readonly clock: Clock;
  readonly turns: Pick<Turns, 'commitNow'>;
  readonly loop: LoopShare;
}

interface Waiting {
  resolve(): void;
  reject(error: SynclineError): void;
}

/** A large command, while it holds the gate or waits for it. */
interface Closer extends Waiting {
  readonly hold: object;
}

export class WriteGate {
  readonly #deps: WriteGateDeps;
  readonly #writers: Waiting[] = [];
  readonly #closers: Closer[] = [];
  #holder: object | undefined;
  /** Writers that go before the next holder. */
  #writersDue = 0;
  #isPumping = false;
  #shutBy: SynclineError | undefined;
  #whole: Promise<void> | undefined;

  constructor(deps: WriteGateDeps) {
    this.#deps = deps;
  }

  get waitingCount(): number {
    return this.#writers.length + this.#closers.length;
  }

  /** Whether writes have to wait. */
  get isClosed(): boolean {
    return this.#holder !== undefined || this.#writers.length > 0;
  }

  /** Undefined if memory is consistent. Otherwise a repair is being applied: wait until it is complete. */
  whenWhole(): Promise<void> | undefined {
    return this.#whole;
  }

  /** Commands wait from now on, reads too, until the returned function is called. */
  holdReads(): () => void {
    let release = () => {};
    this.#whole = new Promise((resolve) => {
      release = () => {
        this.#whole = undefined;
        resolve();
      };
    });
    return release;
  }

  /** Undefined: write now. Otherwise write in the turn in which the promise resolves. */
  admit(): Promise<void> | undefined {
    if (this.#shutBy !== undefined) return Promise.reject(this.#shutBy);
    return this.isClosed ? this.#queueWriter() : undefined;
  }

  /** Separate from `admit`: a function that contains a closure allocates on every call. */
  #queueWriter(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#writers.push({ resolve, reject });
    });
  }

  async close(signal: AbortSignal): Promise<WriteHold> {
    if (this.#shutBy !== undefined) throw this.#shutBy;
    if (signal.aborted) throw abortedError('closing the write gate', signal);
    const hold = {};
    await this.#queueCloser(hold, signal);
    let heldSinceMs = this.#deps.clock.monotonicMs();
    // The part that was stored may have been the last one. If the gate is shut, further changes are refused.
    const commit = () => this.#deps.turns.commitNow();
    const pause = () => {
      const heldMs = this.#deps.clock.monotonicMs() - heldSinceMs;
      if (heldMs < setsLimits.gateHoldMs.value || this.waitingCount === 0)
        return this.#deps.loop.yieldIfOverBudget();
      const again = this.#queueCloser(hold);
      this.#open();
      const hasAgain = () => {
        heldSinceMs = this.#deps.clock.monotonicMs();
      };
      return again.then(hasAgain, () => undefined);
    };
    return {
      commit,
      pause,
      nextPart: () => {
        const error = commit();
        return error === undefined ? pause() : Promise.reject(error);
      },
      release: () => {
        if (this.#holder === hold) this.#open();
        else this.#withdraw(hold);
      },
    };
  }

  /** From now on everyone is refused with this error, including those that wait. */
  shut(error: SynclineError): void {
    this.#shutBy ??= error;
    const waiting = [...this.#writers.splice(0), ...this.#closers.splice(0)];
    this.#writersDue = 0;
    for (const { reject } of waiting) reject(error);
  }

  #queueCloser(hold: object, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        const index = this.#closers.indexOf(entry);
        if (index < 0 || signal === undefined) return;
        this.#closers.splice(index, 1);
        reject(abortedError('closing the write gate', signal));
      };
      const entry: Closer = {
        hold,
        resolve: () => {
          signal?.removeEventListener('abort', leave);
          resolve();
        },
        reject: (error) => {
          signal?.removeEventListener('abort', leave);
          reject(error);
        },
      };
      signal?.addEventListener('abort', leave, { once: true });
      this.#closers.push(entry);
      this.#pumpLater();
    });
  }

  /** A holder that gave up while it let others through does not get the gate again. */
  #withdraw(hold: object): void {
    const index = this.#closers.findIndex((closer) => closer.hold === hold);
    if (index >= 0) this.#closers.splice(index, 1)[0]?.resolve();
  }

  #open(): void {
    this.#holder = undefined;
    this.#writersDue = this.#writers.length;
    this.#pumpLater();
  }

  #pumpLater(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    this.#deps.clock.defer(() => {
      this.#isPumping = false;
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#holder !== undefined) return;
    if (this.#writersDue > 0 || this.#closers.length === 0) {
      const passing = this.#writers.splice(0, WRITERS_PER_TURN);
      this.#writersDue = Math.max(0, this.#writersDue - passing.length);
      for (const { resolve } of passing) resolve();
      if (this.#writers.length > 0 || this.#closers.length > 0) this.#pumpLater();
      return;
    }
    this.#deps.turns.commitNow(); // a large command must not start from changes that may be undone
    const next = this.#closers.shift();
    this.#holder = next?.hold;
    next?.resolve();
  }
}
