// What the server knows of one connection, apart from its bytes.
import type { Address } from '@syncline/kernel';
import type { ByteList } from '../byte-list.js';
import type { Watcher } from '../keyspace.js';
import type { Command } from './command.js';

export interface Client extends Watcher {
  readonly id: number;
  readonly address: Address;
  readonly connectedAtMs: number;
  name: string;
  libraryName: string;
  libraryVersion: string;
  protocol: 2 | 3;
  isAuthenticated: boolean;
  /** CLIENT REPLY: `skip` drops the next reply, `off` all. */
  replies: 'on' | 'off' | 'skip-next' | 'skip';
  /** Commands since MULTI; undefined outside a transaction. */
  queued: QueuedCommand[] | undefined;
  /** A command was refused since MULTI, so EXEC must be. */
  isQueueBroken: boolean;
  watchedKeys: number;
  /** The last dot of the newest operation of this connection, as text. */
  lastOperation: string | undefined;
  lastCommand: string;
  lastActiveMs: number;
  /** After this reply the connection ends: QUIT. */
  endAfterReply(): void;
  /** Drops the connection at once: CLIENT KILL. */
  cut(): void;
}

export interface QueuedCommand {
  readonly command: Command;
  readonly args: ByteList;
}
