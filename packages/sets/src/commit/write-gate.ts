// Who may write now. Two things keep writes waiting: a command that closed the gate, and a head that is
// too large to take more.
//
// A command that reads a range before it writes closes the gate, so that nothing changes between what it
// read and what it writes. Whoever comes meanwhile waits, and keeps its place: writers and closers stand
// in one queue. Writers at the front are let through a few per turn, and room is asked for again in each
// turn, so that ten thousand that waited for room cannot overrun it together. A closer gets the gate one
// turn after the writers before it, when these have done what they waited for.
//
// S10  The head passes its limit by at most WRITERS_PER_TURN commands.
import { abortedError, type Clock, type SynclineError } from '@syncline/kernel';
import type { GateHold } from '../keyspace.js';

const WRITERS_PER_TURN = 16;

export interface WriteGateDeps {
  readonly clock: Clock;
  /** True while the head can take more. Asked often. */
  hasRoom(): boolean;
  /** Why there will be no room soon, such as a full disk; undefined when waiting makes sense. */
  blockedBy(): SynclineError | undefined;
  /** Commits that failed so far, and why the last one did. */
  failures(): { readonly count: number; readonly last: SynclineError | undefined };
  /** Resolves when all changes up to now are stored; rejects when they were undone. */
  allSettled(): Promise<void>;
}

interface Waiting {
  readonly kind: 'writer' | 'closer';
  readonly resolve: () => void;
  readonly reject: (error: SynclineError) => void;
}

export class WriteGate {
  readonly #deps: WriteGateDeps;
  readonly #queue: Waiting[] = [];
  /** Closed, or about to be. */
  #isClosed = false;
  /** The holder, waiting for room. */
  #holder: Waiting | undefined;
  #isPumping = false;
  #shutBy: SynclineError | undefined;

  constructor(deps: WriteGateDeps) {
    this.#deps = deps;
  }

  get waitingCount(): number {
    return this.#queue.length;
  }

  /** Undefined: write now. Else write within the turn in which the promise resolves. */
  admit(): Promise<void> | undefined {
    if (this.#shutBy !== undefined) return Promise.reject(this.#shutBy);
    const hasRoom = this.#deps.hasRoom();
    if (!this.#isClosed && this.#queue.length === 0 && hasRoom) return undefined;
    const blockedBy = hasRoom ? undefined : this.#deps.blockedBy();
    if (blockedBy !== undefined) return Promise.reject(blockedBy);
    return new Promise((resolve, reject) => {
      this.#queue.push({ kind: 'writer', resolve, reject });
      this.#pump();
    });
  }

  /** Resolves with the gate closed to all others. */
  async close(signal: AbortSignal): Promise<GateHold> {
    if (this.#shutBy !== undefined) throw this.#shutBy; // first: it says why
    if (signal.aborted) throw abortedError('closing the gate', signal);
    await new Promise<void>((resolve, reject) => {
      const entry: Waiting = { kind: 'closer', resolve: granted, reject: refused };
      const leave = () => {
        if (!this.#remove(entry)) return;
        refused(abortedError('closing the gate', signal));
        this.#pump();
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#queue.push(entry);
      this.#pump();

      function granted(): void {
        signal.removeEventListener('abort', leave);
        resolve();
      }
      function refused(error: SynclineError): void {
        signal.removeEventListener('abort', leave);
        reject(error);
      }
    });
    return this.#hold();
  }

  /** Call it when the head has become smaller. */
  roomChanged(): void {
    if (this.#holder !== undefined && this.#deps.hasRoom()) {
      const { resolve } = this.#holder;
      this.#holder = undefined;
      resolve();
    }
    this.#pump();
  }

  /** From now on everybody is refused with this error, those who wait included. */
  shut(error: SynclineError): void {
    this.#shutBy ??= error;
    this.refuseWaiting(error);
  }

  /** Refuses those who wait, and nobody who comes later. */
  refuseWaiting(error: SynclineError): void {
    const waiting = this.#queue.splice(0);
    if (this.#holder !== undefined) waiting.unshift(this.#holder);
    this.#holder = undefined;
    for (const { reject } of waiting) reject(error);
  }

  #pump(): void {
    if (this.#isPumping) return;
    for (let passed = 0; this.#canPass(); passed += 1) {
      const next = this.#queue[0];
      if (next === undefined) return;
      if (next.kind === 'closer' || passed === WRITERS_PER_TURN) {
        this.#pumpLater();
        return;
      }
      this.#queue.shift();
      next.resolve();
    }
  }

  #pumpLater(): void {
    this.#isPumping = true;
    this.#deps.clock.defer(() => {
      this.#isPumping = false;
      const next = this.#queue[0];
      if (next?.kind === 'closer' && this.#canPass()) {
        this.#queue.shift();
        this.#isClosed = true;
        next.resolve();
      } else this.#pump();
    });
  }

  #canPass(): boolean {
    return !this.#isClosed && this.#queue.length > 0 && this.#deps.hasRoom();
  }

  #remove(entry: Waiting): boolean {
    const index = this.#queue.indexOf(entry);
    if (index < 0) return false;
    this.#queue.splice(index, 1);
    return true;
  }

  #hold(): GateHold {
    let isHeld = true;
    const failuresBefore = this.#deps.failures().count;
    const failureSince = () => {
      const { count, last } = this.#deps.failures();
      return count > failuresBefore ? last : undefined;
    };
    return {
      room: () => {
        if (this.#shutBy !== undefined) return Promise.reject(this.#shutBy);
        const failure = failureSince();
        if (failure !== undefined) return Promise.reject(failure);
        if (this.#deps.hasRoom()) return undefined;
        const blockedBy = this.#deps.blockedBy();
        if (blockedBy !== undefined) return Promise.reject(blockedBy);
        return new Promise((resolve, reject) => {
          this.#holder = { kind: 'writer', resolve, reject };
        });
      },
      settled: () => {
        const failure = failureSince();
        return failure === undefined ? this.#deps.allSettled() : Promise.reject(failure);
      },
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#isClosed = false;
        this.#pump();
      },
    };
  }
}
