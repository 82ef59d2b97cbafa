// What the server knows of one connection, apart from its bytes.
import type { Address } from '@syncline/kernel';
import type { Watcher } from '../keyspace.js';

/** `Queued` is a command that waits for EXEC; only commands know its type. */
export interface Client<Queued = unknown> extends Watcher {
  readonly id: number;
  readonly address: Address;
  readonly connectedAtMs: number;
  /** Fires when the connection is gone. */
  readonly gone: AbortSignal;
  /** Fires when the client has ended its side or is gone: nobody waits for long reads any more. */
  readonly reading: AbortSignal;
  name: string;
  libraryName: string;
  libraryVersion: string;
  protocol: 2 | 3;
  isAuthenticated: boolean;
  /** CLIENT REPLY: `skip` drops the next reply, `off` all of them. */
  replies: 'on' | 'off' | 'skip-next' | 'skip';
  /** Commands since MULTI; undefined outside a transaction. */
  queued: Queued[] | undefined;
  /** Memory of the queued commands, and the number of their words. */
  queuedBytes: number;
  queuedWords: number;
  /** A command was refused since MULTI, so EXEC must be refused too. */
  isQueueBroken: boolean;
  watchedKeys: number;
  /** Counter of the newest operation of this connection; 0 before the first. */
  lastCounter: number;
  lastCommand: string;
  /** Set when a command has walked sets and may have taken long. The session checks the time and resets it. */
  hasWalked: boolean;
  /** Set when a command reads or changes sets: only then may an error take the place of its reply. */
  hasUsedSets: boolean;
  lastActiveMs: number;
  /** Closes the connection after this reply: QUIT. */
  endAfterReply(): void;
  /** Closes the connection at once: CLIENT KILL. */
  cut(): void;
}
