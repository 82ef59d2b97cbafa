// Add-wins sets on one durable node: the library's interface. Any Redis client can talk to it by `connect`.
import type {
  Address,
  Clock,
  Durability,
  Files,
  Logger,
  Metrics,
  Random,
  SynclineError,
  VersionVector,
} from '@syncline/kernel';
import type { Mesh, PeerStatus } from '@syncline/mesh';
import type { Digest, ScanFrom } from './keyspace.js';
import type { EngineLimits } from './limits.js';
import type { PullLimits } from './replication/pull-limits.js';
import type { PullTrigger } from './replication/pull-schedule.js';

export interface SetsDeps {
  /** The directory of the sets. Undefined: they are kept in memory only, and are lost with the process. */
  readonly files: Files | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /**
   * To the other nodes; the sets open it once their epoch is stored, and its owner closes it. Without it, or without
   * peers in it, this node is alone.
   */
  readonly mesh?: Mesh;
  /**
   * Peers know operations of this node that it does not, and it has made others: it takes no more writes and must be
   * stopped. Default: `status` tells.
   */
  onConflict?(error: SynclineError): void;
  /** Memory of the process as the system sees it, for INFO. Default: 0. */
  processBytes?(): number;
  /** Called with a failed assertion of a command whose client has left. Default: it is thrown from a microtask. */
  onBug?(thrown: unknown): void;
}

export interface SetsOptions {
  /** 1 to 65535, unique in the cluster. */
  readonly nodeId: number;
  /** The order of members in scans depends on it, so it stays for the life of the data. */
  readonly clusterId: string;
  /** `buffered` survives kill -9, `synced` survives power loss. Default `buffered`. */
  readonly durability?: Durability;
  /** Above it commands that add are refused; removes always work. Default 0: no limit. */
  readonly memoryBytesMax?: number;
  /**
   * True: `openSets` resolves once the directory is checked, clients are answered `-LOADING` meanwhile, and
   * `loaded` says when it is over. Default false: `openSets` resolves when everything is loaded.
   */
  readonly serveWhileLoading?: boolean;
  /** Clients must send it by AUTH. Default: none is asked for. */
  readonly password?: string;
  /** Shown by INFO and HELLO. Default `0.0.0`. */
  readonly version?: string;
  /** Shown by INFO. Default 0. */
  readonly port?: number;
  /** Shown by CONFIG GET. Default 10,000. */
  readonly connectionsMax?: number;
  /** How long the first write waits for peers, which may know more of this node than its disk. Default 1,000. */
  readonly startupDelayMs?: number;
  /** How often this node compares itself with a peer when nothing else asks for it. Default 10,000. */
  readonly pullIntervalMs?: number;
  /** For tests only. Default: the limits of docs/LIMITS.md. */
  readonly limits?: Partial<EngineLimits>;
  readonly pullLimits?: Partial<PullLimits>;
}

/** Promises settle once the change is as durable as `durability` says. */
export interface Sets extends AsyncDisposable {
  /** Resolves when everything that was stored is in memory. Rejects with `corrupt`, and with `closed` after `close`. */
  readonly loaded: Promise<void>;
  /** How many were absent. */
  add(set: Uint8Array, members: readonly Uint8Array[]): Promise<number>;
  /** How many were present. */
  remove(set: Uint8Array, members: readonly Uint8Array[]): Promise<number>;
  /** This and other reads that give no promise may show what is not stored yet, see `settled`. */
  has(set: Uint8Array, member: Uint8Array): boolean;
  cardinality(set: Uint8Array): number;
  /** All members at one moment, in no particular order. */
  members(set: Uint8Array, signal?: AbortSignal): AsyncIterable<Uint8Array>;
  /** Sets that are not empty, from a position on: at least `count` of them, if there are as many. */
  scanSets(from: ScanFrom): ScannedSets;
  /** Members of a set, as `scanSets`. */
  scanMembers(set: Uint8Array, from: ScanFrom): ScannedMembers;
  version(): VersionVector;
  digest(): Digest;
  /** Resolves when all that could be read up to now is stored. Rejects when it could not be, and was undone. */
  settled(): Promise<void>;
  /** RESP without a socket. */
  connect(peer: RespPeer): RespSession;
  status(): SetsStatus;
  /** Refuses writes, finishes what is in flight, and marks the stop as clean. */
  close(): Promise<void>;
}

export interface ScannedSets {
  readonly sets: readonly { readonly name: Uint8Array; readonly cardinality: number }[];
  /** The position to continue from; 0 at the end. */
  readonly next: number;
}

export interface ScannedMembers {
  readonly members: readonly Uint8Array[];
  readonly next: number;
}

export interface SetsStatus {
  readonly health: 'loading' | 'ready' | 'full' | 'failed';
  readonly reason: string | undefined;
  readonly epoch: number;
  readonly sets: number;
  readonly liveDots: number;
  readonly memoryBytes: number;
  readonly logBytes: number;
  readonly checkpoint: {
    readonly bytes: number;
    readonly takenMs: number;
    readonly isRunning: boolean;
  };
  readonly connections: number;
  /** Undefined: this node is alone. */
  readonly replication: ReplicationStatus | undefined;
}

export interface ReplicationStatus {
  /** It has compared itself with a peer since the start, or no peer could be reached for 10 seconds. */
  readonly isCaughtUp: boolean;
  /** Peers whose sets differ from ours at the same version: a bug or a damaged disk. */
  readonly divergedPeers: readonly number[];
  /** Why this node cannot fetch what it missed, such as a full disk; undefined: the last pull did not fail here. */
  readonly pullFailure: string | undefined;
  readonly peers: readonly PeerStatus[];
  /** Pulls of this node since the start, by peer. */
  readonly pulls: readonly PullCounts[];
}

export interface PullCounts {
  readonly peer: number;
  /** Pulls that have ended, for better or worse. */
  readonly count: number;
  /** In both directions. */
  readonly bytes: number;
  /** Dots that were added and dropped by them. */
  readonly added: number;
  readonly dropped: number;
  /** Undefined: none has ended yet. */
  readonly last: PullReport | undefined;
}

export type PullOutcome =
  | 'applied'
  | 'nothing'
  | 'busy'
  | 'diverged'
  | 'corrupt'
  | 'timeout'
  | 'failed'
  | 'aborted';

/** How a pull ended. */
export interface PullReport {
  readonly trigger: PullTrigger;
  readonly outcome: PullOutcome;
  /** Version and digest of both nodes were compared, and were the same. */
  readonly isEqual: boolean;
  /** Wall clock. */
  readonly endedAtMs: number;
  readonly tookMs: number;
  /** In both directions, without framing. */
  readonly bytes: number;
}

export interface RespPeer {
  /** Where the client is. */
  readonly address: Address;
  /** The client is on this machine. */
  readonly loopback: boolean;
  /** Aborted when the connection is gone, whichever side ended it: replies are no longer accepted. */
  readonly gone: AbortSignal;
  /** Drops the connection at once, with the replies that are not sent. */
  cut(): void;
}

export interface RespSession {
  /**
   * Takes bytes as they arrived, cut anywhere; afterwards they may change. A promise asks to wait with the next chunk: enough is
   * waiting already. What the client did wrong is an answer and never a throw.
   */
  push(chunk: Uint8Array): Promise<void> | undefined;
  /**
   * Where replies go, as soon as they may leave. Called once, before the first `push`. Plain calls, since a
   * promise per chunk would cost as much as the command in it.
   */
  writeTo(sink: RespSink): void;
  /**
   * Called once for every session: no more bytes come, because the client has ended its side or because the
   * server stops. What was pushed is answered, then the sink is ended. A client that has ended its side gets
   * no more of a reply that takes longer than a turn.
   */
  close(reason: 'client-ended' | 'draining'): void;
}

/** Where the replies of one session go. It is cheapest to write once per turn of the event loop. */
export interface RespSink {
  /** Takes the bytes, always; they must not change afterwards. False: wait for `drained` with more. */
  write(chunk: Uint8Array): boolean;
  /** Resolves when there is room. Rejects with `closed` when the client is gone. */
  drained(): Promise<void>;
  /** Behind the last reply the connection is closed. */
  end(): void;
}
