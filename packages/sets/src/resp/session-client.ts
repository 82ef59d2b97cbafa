// What commands see and change of the connection that they came by.
import type { Address } from '@syncline/kernel';
import type { Client } from '../commands/client.js';
import type { QueuedCommand } from '../commands/command.js';

export interface SessionClientDeps {
  readonly address: Address;
  readonly gone: AbortSignal;
  endAfterReply(): void;
  cut(): void;
}

export interface SessionClientOptions {
  readonly id: number;
  readonly nowMs: number;
  readonly isAuthenticated: boolean;
}

export class SessionClient implements Client {
  readonly id: number;
  readonly address: Address;
  readonly connectedAtMs: number;
  readonly gone: AbortSignal;
  name = '';
  libraryName = '';
  libraryVersion = '';
  protocol: 2 | 3 = 2;
  isAuthenticated: boolean;
  replies: Client['replies'] = 'on';
  queued: QueuedCommand[] | undefined = undefined;
  queuedBytes = 0;
  queuedWords = 0;
  isQueueBroken = false;
  isTouched = false;
  watchedKeys = 0;
  lastCounter = 0;
  lastCommand = '';
  hasWalked = false;
  hasUsedSets = false;
  lastActiveMs: number;
  readonly #deps: SessionClientDeps;
  #reading: AbortController | undefined;

  constructor(deps: SessionClientDeps, options: SessionClientOptions) {
    this.#deps = deps;
    this.id = options.id;
    this.address = deps.address;
    this.gone = deps.gone;
    this.connectedAtMs = options.nowMs;
    this.lastActiveMs = options.nowMs;
    this.isAuthenticated = options.isAuthenticated;
  }

  /** Made with the first long read: few connections have one. */
  get reading(): AbortSignal {
    this.#reading ??= new AbortController();
    if (this.gone.aborted) this.#reading.abort();
    return this.#reading.signal;
  }

  stopReads(): void {
    this.#reading ??= new AbortController();
    this.#reading.abort();
  }

  endAfterReply(): void {
    this.#deps.endAfterReply();
  }

  cut(): void {
    this.#deps.cut();
  }
}
