// What commands see and change of their connection, apart from its bytes.
import type { Address } from '@syncline/kernel';
import type { Watcher } from '../keyspace.js';

export interface ClientDeps {
  readonly address: Address;
  readonly gone: AbortSignal;
  /** Closes the connection after this reply: QUIT. */
  endAfterReply(): void;
  /** Closes the connection at once: CLIENT KILL. */
  cut(): void;
}

export interface ClientOptions {
  readonly id: number;
  readonly nowMs: number;
  readonly isAuthenticated: boolean;
}

/** `Queued` is a command that waits for EXEC; only commands know its type. */
export class Client<Queued = unknown> implements Watcher {
  readonly id: number;
  readonly connectedAtMs: number;
  readonly address: Address;
  readonly gone: AbortSignal;
  readonly endAfterReply: () => void;
  readonly cut: () => void;
  name = '';
  libraryName = '';
  libraryVersion = '';
  protocol: 2 | 3 = 2;
  isAuthenticated: boolean;
  /** CLIENT REPLY: `skip` drops the next reply, `off` all of them. */
  replies: 'on' | 'off' | 'skip-next' | 'skip' = 'on';
  /** Commands since MULTI; undefined outside a transaction. */
  queued: Queued[] | undefined = undefined;
  /** Memory of the queued commands, and the number of their words. */
  queuedBytes = 0;
  queuedWords = 0;
  /** A command was refused since MULTI, so EXEC must be refused too. */
  isQueueBroken = false;
  isTouched = false;
  watchedKeys = 0;
  /** Counter of the newest operation of this connection; 0 before the first. */
  lastCounter = 0;
  lastCommand = '';
  /** Set when a command has walked sets and may have taken long. The session checks the time and resets it. */
  hasWalked = false;
  /** Set when a command reads or changes sets: only then may an error take the place of its reply. */
  hasUsedSets = false;
  lastActiveMs: number;
  #reading: AbortController | undefined;

  constructor({ address, gone, endAfterReply, cut }: ClientDeps, options: ClientOptions) {
    this.address = address;
    this.gone = gone;
    this.endAfterReply = endAfterReply;
    this.cut = cut;
    this.id = options.id;
    this.connectedAtMs = options.nowMs;
    this.lastActiveMs = options.nowMs;
    this.isAuthenticated = options.isAuthenticated;
  }

  /**
   * Fires when the client has ended its side or is gone: then no one is waiting for long reads any more. Created with
   * the first long read, since few connections have one.
   */
  get reading(): AbortSignal {
    this.#reading ??= new AbortController();
    if (this.gone.aborted) this.#reading.abort();
    return this.#reading.signal;
  }

  stopReads(): void {
    this.#reading ??= new AbortController();
    this.#reading.abort();
  }
}
