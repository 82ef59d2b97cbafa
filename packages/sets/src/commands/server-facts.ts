// What commands report about the server, and the little that they may change of it.
import type { Clock, Random, SynclineError, VersionVector } from '@syncline/kernel';
import type { PeerStatus } from '@syncline/mesh';
import type { PullCounts } from '../sets.js';
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
   * synced, and everything that reads sets is answered with `failure()`.
   */
  phase(): 'serving' | 'loading' | 'closing' | 'failed';
  failure(): SynclineError | undefined;
  /** Open connections by id. */
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
  readonly replication: ReplicationFacts | undefined;
  counts(): ServerCounts;
  memory(): MemoryFacts;
  /** Whether memory is above `maxmemory`. Asked before every command that adds members. */
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

/** The other nodes, as far as commands need them. */
export interface ReplicationFacts {
  peers(): readonly PeerStatus[];
  pulls(): readonly PullCounts[];
  connectedCount(): number;
  /** Peers that have applied our operations up to this counter. */
  appliedCount(counter: number): number;
  /** Resolves with the number of peers that have applied our operations up to this counter, or when the signal fires. */
  whenApplied(counter: number, count: number, signal: AbortSignal): Promise<number>;
  /** The versions of peers that answer, at most `count` of them, until the signal fires. */
  askVersions(count: number, signal: AbortSignal): Promise<readonly VersionVector[]>;
  /** A read waits for what is not here: fetch it. */
  pullForRead(): void;
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
  readonly loading:
    | { readonly startedMs: number; readonly loadedBytes: number; readonly totalBytes: number }
    | undefined;
  /** False: the server runs without a disk. */
  readonly isEnabled: boolean;
  /** Size of the log on disk. */
  readonly logBytes: number;
  /** Size of the last checkpoint. */
  readonly logBaseBytes: number;
  readonly logRecords: number;
  readonly unsyncedRecords: number;
  readonly lastWriteStatus: 'ok' | 'err';
  readonly checkpoint: CheckpointFacts;
}

export interface CheckpointFacts {
  readonly isRunning: boolean;
  /** How long the running one has taken so far. */
  readonly currentSeconds: number;
  /** Wall time of the last one that succeeded. */
  readonly lastSaveMs: number;
  readonly lastSeconds: number;
  readonly lastStatus: 'ok' | 'err';
  /** Changed elements since the last one that succeeded. */
  readonly changesSince: number;
}
