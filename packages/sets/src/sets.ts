// Add-wins sets on one durable node: the library's face. Any Redis client can talk to it by `connect`.
import type {
  Address,
  Clock,
  Durability,
  Logger,
  Metrics,
  Random,
  Storage,
  VersionVector,
} from '@syncline/kernel';
import type { Digest } from './keyspace.js';

export interface SetsDeps {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface SetsOptions {
  /** 1 to 65535, unique in the cluster. */
  readonly nodeId: number;
  /** The order of members in scans depends on it, so it stays for the life of the data. */
  readonly clusterId: string;
  /** `buffered` survives kill -9, `synced` survives power loss. Default `buffered`. */
  readonly durability?: Durability;
  /** Clients must send it by AUTH. Default: none is asked for. */
  readonly password?: string;
  /** Shown by INFO and HELLO. Default `0.0.0`. */
  readonly version?: string;
  /** Shown by INFO. Default 0. */
  readonly port?: number;
  /** Shown by CONFIG GET. Default 10,000. */
  readonly connectionsMax?: number;
  /** Memory for sets that are held whole. Default: see docs/LIMITS.md. */
  readonly cacheBytesMax?: number;
}

/** Promises settle once the change is as durable as `durability` says. */
export interface Sets extends AsyncDisposable {
  /** How many were absent. */
  add(set: Uint8Array, members: readonly Uint8Array[]): Promise<number>;
  /** How many were present. */
  remove(set: Uint8Array, members: readonly Uint8Array[]): Promise<number>;
  /** This and other reads that give no promise may show what is not stored yet, see `settled`. */
  has(set: Uint8Array, member: Uint8Array): boolean;
  cardinality(set: Uint8Array): number;
  /** All members at one moment, in an order that every node of the cluster shares. */
  members(set: Uint8Array, signal?: AbortSignal): AsyncIterable<Uint8Array>;
  version(): VersionVector;
  digest(): Digest;
  /** Resolves when all that could be read up to now is stored. Rejects when it could not be, and was undone. */
  settled(): Promise<void>;
  /** RESP without a socket. */
  connect(peer: RespPeer): RespSession;
  status(): SetsStatus;
  /** Refuses writes, finishes what is under way, folds, and marks the stop as clean. */
  close(): Promise<void>;
}

export interface SetsStatus {
  readonly health: 'ready' | 'full' | 'failed';
  readonly reason: string | undefined;
  readonly epoch: number;
  readonly sets: number;
  readonly liveDots: number;
  readonly headEntries: number;
  readonly cacheBytes: number;
  readonly connections: number;
}

export interface RespPeer {
  /** Where the client is. */
  readonly address: Address;
  /** The client is on this machine. */
  readonly loopback: boolean;
  /** Fires when the connection is gone, whoever ended it: nobody takes replies any more. */
  readonly gone: AbortSignal;
  /** Drops the connection at once, with the replies that are not sent. */
  cut(): void;
}

export interface RespSession {
  /**
   * Takes bytes as they arrived, cut anywhere. A promise asks to wait with the next chunk: enough is
   * waiting already. What the client did wrong is an answer and never a throw.
   */
  push(chunk: Uint8Array): Promise<void> | undefined;
  /**
   * Where replies go, as soon as they may leave. Called once, before the first `push`. Plain calls, since a
   * promise per chunk would cost as much as the command in it.
   */
  writeTo(sink: RespSink): void;
  /**
   * Called once for every session: no more bytes come. What was pushed is answered, then the
   * sink is ended; if the client is gone there is nothing to answer.
   */
  close(): void;
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
