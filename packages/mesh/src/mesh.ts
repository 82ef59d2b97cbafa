// The mesh as its users see it: one per node, shared by the slices as channels.
//
// The mesh moves operations to every peer and treats their bodies as bytes. It owns connections, handshake, the
// ring of recent operations, acknowledgements, retries, causal delivery and liveness. The meaning of an
// operation, the version vector and the repair of missed operations belong to the slice behind the channel.
import type {
  ActorId,
  Clock,
  Connection,
  Logger,
  Metrics,
  Network,
  Random,
  VersionVector,
} from '@syncline/kernel';

export interface MeshDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** For dialing peers. */
  readonly network: Network;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Without it compression stays off. */
  readonly snappy?: SnappyCodec;
}

/** Snappy's block format, as in the npm package `snappy`. `uncompress` throws on invalid bytes. */
export interface SnappyCodec {
  compressSync(bytes: Uint8Array): Uint8Array;
  uncompressSync(bytes: Uint8Array): Uint8Array;
}

export interface MeshPeer {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
}

export interface MeshOptions {
  /** 1 to 65535. */
  readonly nodeId: number;
  readonly clusterId: string;
  /** The other nodes. An entry with our own id is skipped, so that one list serves all nodes. */
  readonly peers: readonly MeshPeer[];
  /** Both sides prove that they know it. Empty only on loopback, or where certificates name the nodes. */
  readonly secret: string;
  /** True: a peer proves its identity by the URI `syncline://<cluster>/node/<id>` in its certificate. */
  readonly usesCertificates?: boolean;
  /** Resends before a peer is asked to pull instead. Default 5. */
  readonly maxRetries?: number;
  /** Wait before the first resend; it doubles each time. Default 100. */
  readonly retryBackoffMs?: number;
  /** How long an acknowledgement may take before operations are resent. Default 500. */
  readonly ackTimeoutMs?: number;
  /** Operations that may wait for their dependencies, over all peers. Default 65,536. */
  readonly bufferSize?: number;
  /** Default 1,000. */
  readonly heartbeatIntervalMs?: number;
  /** Silence after which a connection counts as dead, and the timeout of a handshake. Default 5,000. */
  readonly connectionTimeoutMs?: number;
  /** Bytes of recent operations that are kept for peers. Default 64 MiB. */
  readonly ringBytesMax?: number;
  /** Compress frames above 4 KiB if the peer allows it, too. Default false. */
  readonly compression?: boolean;
}

export interface Mesh extends AsyncDisposable {
  /** Registers a slice. Only before `open`. */
  channel(name: string, handler: ChannelHandler): MeshChannel;
  /** Starts to dial and to accept. Epoch and node id together are our actor. */
  open(epoch: number): void;
  /** Switches to a new epoch: all connections are closed and dialed again, and the rings are emptied. */
  changeEpoch(epoch: number): void;
  /** Takes over an accepted connection: its handshake, its frames and its end. */
  accept(connection: Connection): void;
  /** Resolves when every peer has completed the handshake or was unreachable, or when the signal fires. */
  firstContact(signal: AbortSignal): Promise<void>;
  peers(): readonly PeerStatus[];
  /** Sends unsent bytes and closes the connections, within a second. */
  close(): Promise<void>;
}

/** What a slice provides to the mesh. The calls are synchronous and must not throw, except where noted. */
export interface ChannelHandler {
  /** The highest counter of this actor that is applied in memory: decides what is ready. */
  appliedCounter(actor: ActorId): number;
  /** What is committed with the configured durability, and so may be shown to peers and acknowledged. */
  version(): VersionVector;
  /**
   * Applies an operation that is ready. 'wait': not now; it is offered again after `resume`. Throws a SynclineError
   * with code `invalid-argument` for a body that is malformed: nothing is applied and the peer is disconnected.
   */
  deliver(operation: DeliveredOperation): 'taken' | 'wait';
  /** A message of a peer. `kind` is the field number of the message in syncline.mesh.v1.Frame, 11 to 16. Throws as `deliver` does. */
  message(peer: number, kind: number, body: Uint8Array): void;
  /** The peer is authenticated and its version is known. Called before any other method for this peer. */
  peerUp(peer: number, version: VersionVector): void;
  peerDown(peer: number): void;
  /** What is missing here can no longer be pushed by this peer: it must be pulled. */
  pullWanted(peer: number, reason: PullReason): void;
}

export type PullReason = 'overflow' | 'gap' | 'evicted';

export interface DeliveredOperation {
  readonly actor: ActorId;
  /** The first of its `count` counters. */
  readonly base: number;
  readonly count: number;
  /**
   * The operation lies in these bytes from `start` to `end`, with its tag and length, as it stands in an Operations
   * message: what was received is what is stored. Valid during the call.
   */
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** What the mesh provides to a slice. */
export interface MeshChannel {
  /**
   * Sends operations of our own to every peer; they must be durable as configured. `encoded` is an Operations
   * message that covers the counters from `base` to `last` without a gap; the bytes now belong to the mesh.
   */
  publish(encoded: Uint8Array, base: number, last: number): void;
  /** `version()` has changed: acknowledgements may be sent. */
  committed(): void;
  /** Resumes delivery: after a 'wait', and after a repair has raised the applied counters. */
  resume(): void;
  /** Sends one message to one peer. False: it is not connected, or too much is unsent to it. */
  send(peer: number, kind: number, body: Uint8Array): boolean;
  /**
   * The committed versions of the peers that answer, ours not included. Ends early when `count` have answered.
   * Rejects with `overloaded` when too many callers wait; so does `whenApplied`.
   */
  askVersions(count: number, signal: AbortSignal): Promise<readonly VersionVector[]>;
  /** Peers that have applied our operations up to this counter. */
  appliedCount(counter: number): number;
  /** Resolves with `appliedCount` once it is at least `count`, or when the signal fires. */
  whenApplied(counter: number, count: number, signal: AbortSignal): Promise<number>;
  /** Connected and authenticated peers that have this channel. */
  connectedPeers(): readonly number[];
}

export interface PeerStatus {
  readonly nodeId: number;
  readonly address: string;
  /** `connecting`: the first attempt has no outcome yet. `behind`: it is connected and has to pull. */
  readonly state: 'connecting' | 'connected' | 'behind' | 'down';
  /** When it entered this state, by the wall clock. */
  readonly sinceMs: number;
  /** Time since its last byte; undefined before the first one. */
  readonly silentMs: number | undefined;
  /** Operations of ours that it has not applied. */
  readonly lagOperations: number;
  /** Approximately how many of these have left the ring, so that it has to pull them. */
  readonly evictedOperations: number;
  /** Age of the oldest of these, by our clock. */
  readonly lagMs: number;
  /** Sent, not acknowledged as received. */
  readonly unackedOperations: number;
  /** Operations of this peer that wait here for their dependencies. */
  readonly pendingOperations: number;
  readonly retries: number;
  readonly reconnects: number;
  /** Why the last connection ended or was refused. */
  readonly lastError: string | undefined;
}
