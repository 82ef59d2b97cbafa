// What the server knows of one connection, apart from its bytes.
import type { Address } from '@syncline/kernel';
import type { Watcher } from '../keyspace.js';

/** `Queued` is a command that waits for EXEC; only the commands know what it is. */
export interface Client<Queued = unknown> extends Watcher {
  readonly id: number;
  readonly address: Address;
  readonly connectedAtMs: number;
  /** Fires when the connection is gone; what waits for it stops. */
  readonly gone: AbortSignal;
  name: string;
  libraryName: string;
  libraryVersion: string;
  protocol: 2 | 3;
  isAuthenticated: boolean;
  /** CLIENT REPLY: `skip` drops the next reply, `off` all. */
  replies: 'on' | 'off' | 'skip-next' | 'skip';
  /** Commands since MULTI; undefined outside a transaction. */
  queued: Queued[] | undefined;
  /** Memory of the queued commands, and their words. */
  queuedBytes: number;
  queuedWords: number;
  /** A command was refused since MULTI, so EXEC must be. */
  isQueueBroken: boolean;
  watchedKeys: number;
  /** Counter of the newest operation of this connection; 0 before the first. */
  lastCounter: number;
  lastCommand: string;
  /** A command has walked sets, so it may have taken long. The session looks at the clock and sets it back. */
  hasWalked: boolean;
  lastActiveMs: number;
  /** After this reply the connection ends: QUIT. */
  endAfterReply(): void;
  /** Drops the connection at once: CLIENT KILL. */
  cut(): void;
}
