// What commands tell about the server, and the little that they may change of it.
import type { Clock, Random } from '@syncline/kernel';
import type { CommonRoom } from '../common-room.js';
import type { Client } from './client.js';

export interface ServerFacts {
  readonly clock: Clock;
  readonly random: Random;
  readonly version: string;
  /** 40 hex digits, other ones with each start. */
  readonly runId: string;
  /** When the sets were opened, by the clock that never goes back. */
  readonly startedMonotonicMs: number;
  readonly nodeId: number;
  readonly epoch: number;
  readonly clusterId: string;
  readonly port: number;
  readonly connectionsMax: number;
  /** `closing`: writes are refused. `loading`: so is all that reads sets. */
  phase(): 'serving' | 'loading' | 'closing';
  /** Connections that stand, by id. */
  readonly clients: ReadonlyMap<number, Client>;
  /** Bytes of the commands that all connections have queued. */
  readonly queueRoom: CommonRoom;
  /** Keys that all connections watch. */
  readonly watchRoom: CommonRoom;
  /** Undefined: no password is set. The promise resolves after the delay that guessing costs. */
  readonly checkPassword:
    | ((client: Client, user: string, password: Uint8Array) => boolean | Promise<boolean>)
    | undefined;
  /** Numbers for INFO, by name. Cheap. */
  counts(): Readonly<Record<InfoCount, number>>;
  durability(): 'buffered' | 'synced';
  /** After a fold, as the two classes are stored differently. */
  setDurability(durability: 'buffered' | 'synced'): Promise<void>;
  /** Idle connections are closed after so many seconds; 0 keeps them. */
  idleTimeoutSeconds: number;
  /** A command of the table ran; `config|set` for subcommands. For INFO and /metrics. */
  countCommand(name: string): void;
}

export type InfoCount =
  | 'memoryBytes'
  | 'cacheBytes'
  | 'headEntries'
  | 'liveDots'
  | 'commands'
  | 'connections'
  | 'connectionsTotal'
  | 'commits'
  | 'folds';
