// What commands report about the server, and the little that they may change.
import type { Clock, Random, SynclineError } from '@syncline/kernel';
import type { Checkpoints } from '../engine/checkpoints.js';
import type { LoadProgress } from '../engine/engine.js';
import type { Replica } from '../replication/replica.js';
import type { SharedQuota } from '../shared-quota.js';
import type { Client } from './client.js';

export interface ServerFacts {
  readonly clock: Clock;
  readonly random: Random;
  readonly version: string;
  /** 40 hex digits, different after each start. */
  readonly runId: string;
  /** When the sets were opened, by the monotonic clock. */
  readonly startedMonotonicMs: number;
  readonly nodeId: number;
  readonly clusterId: string;
  readonly port: number;
  readonly connectionsMax: number;
  /** 0 while loading. */
  epoch(): number;
  /**
   * `closing`: writes are refused. `loading`: so is everything that reads sets. `failed`: a sync failed in class
   * synced, and everything that reads sets gets the error `failure()`.
   */
  phase(): 'serving' | 'loading' | 'closing' | 'failed';
  failure(): SynclineError | undefined;
  readonly clients: ReadonlyMap<number, Client>;
  /** Bytes of the commands that all connections have queued. */
  readonly queueQuota: SharedQuota;
  /** Keys that all connections watch. */
  readonly watchQuota: SharedQuota;
  /** Commands that wait for something other than their turn. */
  readonly blockedQuota: SharedQuota;
  /** Undefined: no password is set. A promise resolves after the delay that wrong guesses cost. */
  readonly checkPassword:
    | ((client: Client, user: string, password: Uint8Array) => boolean | Promise<boolean>)
    | undefined;
  /** Undefined: this node has no peers. */
  readonly replication: Pick<Replica, 'channel' | 'peers' | 'pulls' | 'pullForRead'> | undefined;
  counts(): ServerCounts;
  memory(): MemoryFacts;
  /** Whether memory is above `maxmemory`. Checked before every command that adds members. */
  isOutOfMemory(): boolean;
  /** 0: no limit. */
  setMemoryMax(bytes: number): void;
  persistence(): PersistenceFacts;
  /** `failed`: see `failure()`. `nothing-to-write-to`: the server runs without a disk. */
  startCheckpoint(): 'started' | 'running' | 'failed' | 'closing' | 'nothing-to-write-to';
  durability(): 'buffered' | 'synced';
  /** Takes effect with the next turn. */
  setDurability(durability: 'buffered' | 'synced'): void;
  /** What a command may read or remove within a turn. Default: the limit of this name. */
  readonly turnMembersMax?: number;
  /** Idle connections are closed after this many seconds; 0 keeps them open. */
  idleTimeoutSeconds: number;
  /** Counts a command that ran, for INFO and /metrics; `config|set` for a subcommand. */
  countCommand(name: string): void;
}

export interface ServerCounts {
  readonly commands: number;
  readonly connections: number;
  readonly connectionsTotal: number;
  readonly liveDots: number;
  readonly blocked: number;
}

export interface MemoryFacts {
  readonly usedBytes: number;
  readonly datasetBytes: number;
  readonly overheadBytes: number;
  readonly peakBytes: number;
  readonly rssBytes: number;
  /** 0: no limit. */
  readonly maxBytes: number;
}

export interface PersistenceFacts {
  readonly loading: LoadProgress | undefined;
  /** False: the server runs without a disk. */
  readonly isEnabled: boolean;
  readonly logBytes: number;
  readonly logBaseBytes: number;
  readonly logRecords: number;
  readonly unsyncedRecords: number;
  readonly lastWriteStatus: 'ok' | 'err';
  readonly checkpoint: ReturnType<Checkpoints['facts']>;
}
