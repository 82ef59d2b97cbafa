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
   * Connects to the other nodes. The sets open it once their epoch is stored; its owner closes it. Without it, or if it
   * has no peers, nothing is replicated.
   */
  readonly mesh?: Mesh;
  /**
   * Called when peers have operations of this node that its disk lacks, but it has already accepted new writes: it
   * refuses further ones and must be stopped. Default: only `status` reports it.
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
  /** Above this limit, commands that add members are refused; removes always work. Default 0: no limit. */
  readonly memoryBytesMax?: number;
  /**
   * True: `openSets` resolves once the directory is checked, and clients get `-LOADING` until `loaded` resolves.
   * Default false: `openSets` resolves when everything is loaded.
   */
  readonly serveWhileLoading?: boolean;
  /** Clients must send it with AUTH. Default: no password. */
  readonly password?: string;
  /** Shown by INFO and HELLO. Default `0.0.0`. */
  readonly version?: string;
  /** Shown by INFO. Default 0. */
  readonly port?: number;
  /** Shown by CONFIG GET. Default 10,000. */
  readonly connectionsMax?: number;
  /** How long the first write waits for peers, which may know more of this node than its disk. Default 1,000. */
  readonly startupDelayMs?: number;
  /** How often this node compares itself with a peer when nothing else triggers it. Default 10,000. */
  readonly pullIntervalMs?: number;
  /** For tests only. Default: the limits of docs/LIMITS.md. */
  readonly limits?: Partial<EngineLimits>;
  readonly pullLimits?: Partial<PullLimits>;
}

/** Promises resolve once the change is as durable as `durability` requires. */
export interface Sets extends AsyncDisposable {
  /** Resolves when everything that was stored is in memory. Rejects with `corrupt`, and with `closed` after `close`. */
  readonly loaded: Promise<void>;
  /** Returns how many members were new. */
  add(set: Uint8Array, members: readonly Uint8Array[]): Promise<number>;
  /** Returns how many members were removed. */
  remove(set: Uint8Array, members: readonly Uint8Array[]): Promise<number>;
  /** Like all synchronous reads, it may show changes that are not stored yet: see `settled`. */
  has(set: Uint8Array, member: Uint8Array): boolean;
  cardinality(set: Uint8Array): number;
  /** All members at one moment, in no particular order. */
  members(set: Uint8Array, signal?: AbortSignal): AsyncIterable<Uint8Array>;
  /** Non-empty sets from a position on: at least `count` of them, if there are that many. */
  scanSets(from: ScanFrom): ScannedSets;
  /** Members of a set. Works like `scanSets`. */
  scanMembers(set: Uint8Array, from: ScanFrom): ScannedMembers;
  version(): VersionVector;
  digest(): Digest;
  /** Resolves when everything that was visible at the call is stored. Rejects if it could not be, and was undone. */
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
  /** Undefined if this node has no peers. */
  readonly replication: ReplicationStatus | undefined;
}

export interface ReplicationStatus {
  /** Whether this node has compared itself with a peer since it started, or could not reach any for 10 seconds. */
  readonly isCaughtUp: boolean;
  /** Peers whose sets differ from ours at the same version: a bug or a damaged disk. */
  readonly divergedPeers: readonly number[];
  /** Why this node cannot fetch what it missed, such as a full disk. Undefined if its last pull did not fail. */
  readonly pullFailure: string | undefined;
  readonly peers: readonly PeerStatus[];
  /** Pulls of this node since the start, by peer. */
  readonly pulls: readonly PullCounts[];
}

export interface PullCounts {
  readonly peer: number;
  /** Pulls that have ended, successfully or not. */
  readonly count: number;
  /** In both directions. */
  readonly bytes: number;
  /** Dots that these pulls added and dropped. */
  readonly added: number;
  readonly dropped: number;
  /** Undefined if no pull has ended yet. */
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
  /** Whether both nodes had the same version and digest. */
  readonly isEqual: boolean;
  /** Wall clock. */
  readonly endedAtMs: number;
  readonly tookMs: number;
  /** In both directions, without framing. */
  readonly bytes: number;
}

export interface RespPeer {
  /** The client's address. */
  readonly address: Address;
  /** Whether the client is on this machine. */
  readonly loopback: boolean;
  /** Aborted when the connection is gone, whichever side ended it: replies are no longer accepted. */
  readonly gone: AbortSignal;
  /** Drops the connection immediately, along with unsent replies. */
  cut(): void;
}

export interface RespSession {
  /**
   * Accepts bytes as they arrive, split anywhere; the caller may reuse them afterwards. If it returns a promise, wait
   * for it before pushing the next chunk. Errors of the client are sent as replies, never thrown.
   */
  push(chunk: Uint8Array): Promise<void> | undefined;
  /**
   * Sets where replies are written as soon as they may be sent. Call it once, before the first `push`. The sink is
   * called synchronously, since a promise per chunk would cost as much as the command in it.
   */
  writeTo(sink: RespSink): void;
  /**
   * Call it once for every session, when no more bytes will come because the client has ended its side or the server
   * is stopping. Everything pushed before is answered, then the sink is ended. A client that has ended its side does
   * not get the rest of a reply that takes longer than a turn.
   */
  close(reason: 'client-ended' | 'draining'): void;
}

/** Where the replies of one session go. It is cheapest to write once per turn of the event loop. */
export interface RespSink {
  /** Always accepts the bytes, which must not change afterwards. False: wait for `drained` before writing more. */
  write(chunk: Uint8Array): boolean;
  /** Resolves when there is room. Rejects with `closed` when the client is gone. */
  drained(): Promise<void>;
  /** Closes the connection after the last reply. */
  end(): void;
}
