// Opens the mesh of a node: its channels, its peers, and the connections that peers open to us.
import {
  actorId,
  assert,
  type Connection,
  type Metrics,
  SynclineError,
  type Timer,
} from '@syncline/kernel';
import { Channel } from './channel.js';
import { BOOT_ID_BYTES } from './handshake.js';
import { meshLimits } from './limits.js';
import type {
  ChannelHandler,
  Mesh,
  MeshChannel,
  MeshDeps,
  MeshOptions,
  PeerStatus,
} from './mesh.js';
import type { meshMetrics } from './metrics-list.js';
import { Peer } from './peer.js';
import { type LinkEnd, PeerLink, type PeerLinkDeps } from './peer-link.js';
import { RefusalLog } from './refusal-log.js';

export function createMesh(deps: MeshDeps, options: MeshOptions): Mesh {
  return new OpenMesh(deps, options);
}

type Settings = Required<MeshOptions>;

const peerStates = { down: 0, connecting: 1, connected: 2, behind: 3 } as const;

class OpenMesh implements Mesh {
  readonly #deps: MeshDeps;
  readonly #metrics: Metrics<keyof typeof meshMetrics>;
  readonly #settings: Settings;
  readonly #bootId: Uint8Array;
  readonly #channels = new Map<string, Channel>();
  readonly #peers = new Map<number, Peer>();
  /** Until they are closed, including those that have ended. */
  readonly #links = new Set<PeerLink>();
  readonly #refusals: RefusalLog;
  #epoch: number | undefined;
  #isClosed = false;
  #gauges: Timer | undefined;
  #contactWaiters: (() => void)[] = [];

  constructor(deps: MeshDeps, options: MeshOptions) {
    this.#deps = deps;
    this.#metrics = deps.metrics;
    this.#settings = settingsOf(options);
    this.#bootId = deps.random.bytes(BOOT_ID_BYTES);
    this.#refusals = new RefusalLog(deps);
    const { nodeId, peers, heartbeatIntervalMs } = this.#settings;
    for (const peer of peers) {
      const peerDeps = {
        ...deps,
        metrics: this.#metrics,
        startLink: (connection: Connection, dialedNodeId: number) =>
          this.#startLink(connection, dialedNodeId),
        onContact: () => this.#wakeContactWaiters(),
      };
      const peerOptions = { ...peer, ownNodeId: nodeId, heartbeatIntervalMs };
      this.#peers.set(peer.nodeId, new Peer(peerDeps, peerOptions));
    }
  }

  channel(name: string, handler: ChannelHandler): MeshChannel {
    assert(this.#epoch === undefined, 'channels are registered before the mesh is opened');
    assert(name !== '' && !this.#channels.has(name), `channel "${name}" is registered once`);
    assert(this.#channels.size < meshLimits.channelsMax.value, 'there are not too many channels');
    const { peers, maxRetries, retryBackoffMs, ackTimeoutMs, bufferSize } = this.#settings;
    const channel = new Channel(
      { ...this.#deps, metrics: this.#metrics, handler },
      {
        peers: peers.map(({ nodeId }) => nodeId),
        maxRetries,
        retryBackoffMs,
        ackTimeoutMs,
        ringBatchesMax: meshLimits.ringBatchesMax.value,
        ringBytesMax: this.#settings.ringBytesMax,
        pendingOperationsMax: bufferSize,
        pendingBytesMax: meshLimits.pendingBytesMax.value,
      },
    );
    this.#channels.set(name, channel);
    return channel;
  }

  open(epoch: number): void {
    assert(this.#epoch === undefined && !this.#isClosed, 'a mesh is opened once');
    const actor = actorId(this.#settings.nodeId, epoch);
    this.#epoch = epoch;
    for (const channel of this.#channels.values()) channel.open(actor);
    for (const peer of this.#peers.values()) peer.open();
    this.#planGauges();
  }

  changeEpoch(epoch: number): void {
    assert(this.#epoch !== undefined && !this.#isClosed, 'the mesh is open');
    const actor = actorId(this.#settings.nodeId, epoch);
    this.#epoch = epoch;
    for (const peer of this.#peers.values()) peer.close('shutdown', 'speaking for a new epoch');
    for (const link of this.#links) link.close('shutdown', 'speaking for a new epoch');
    for (const channel of this.#channels.values()) channel.changeActor(actor);
    for (const peer of this.#peers.values()) peer.open();
  }

  accept(connection: Connection): void {
    if (this.#epoch === undefined || this.#isClosed) {
      connection.destroy();
      return;
    }
    this.#endOldestHandshake();
    this.#startLink(connection, undefined);
  }

  firstContact(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        signal.removeEventListener('abort', finish);
        this.#contactWaiters = this.#contactWaiters.filter((waiter) => waiter !== finish);
        resolve();
      };
      signal.addEventListener('abort', finish);
      this.#contactWaiters.push(finish);
      if (signal.aborted) finish();
      else this.#wakeContactWaiters();
    });
  }

  peers(): readonly PeerStatus[] {
    return [...this.#peers.values()].map((peer) => this.#statusOf(peer));
  }

  async close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#gauges?.cancel();
      for (const channel of this.#channels.values()) channel.flush();
      for (const peer of this.#peers.values()) peer.close('shutdown', 'the node is stopping');
      for (const link of this.#links) link.close('shutdown', 'the node is stopping');
      for (const channel of this.#channels.values()) channel.close();
      this.#wakeContactWaiters();
    }
    await Promise.all([...this.#links].map(({ connection }) => connection.closed));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #startLink(connection: Connection, dialedNodeId: number | undefined): PeerLink {
    const { heartbeatIntervalMs, connectionTimeoutMs } = this.#settings;
    const options = { dialedNodeId, heartbeatIntervalMs, connectionTimeoutMs };
    const link = new PeerLink(this.#linkDeps(dialedNodeId), options, connection);
    this.#links.add(link);
    void connection.closed.then(() => this.#links.delete(link));
    link.start();
    return link;
  }

  /** A flood of connections must not lock out peers, whose handshake takes milliseconds: the oldest one is dropped. */
  #endOldestHandshake(): void {
    const accepted = [...this.#links].filter((link) => !link.isDialed);
    const inHandshake = accepted.filter((link) => !link.isUp && !link.isEnded);
    const [oldest] = inHandshake;
    if (oldest === undefined || inHandshake.length < meshLimits.handshakesMax.value) return;
    oldest.close('overload', `${inHandshake.length} connections in a handshake`);
    oldest.connection.destroy();
  }

  #linkDeps(dialedNodeId: number | undefined): PeerLinkDeps {
    const { nodeId, clusterId, secret, usesCertificates, compression } = this.#settings;
    const { snappy } = this.#deps;
    assert(this.#epoch !== undefined, 'the mesh is open');
    return {
      ...this.#deps,
      metrics: this.#metrics,
      snappy,
      identity: {
        nodeId,
        clusterId,
        epoch: this.#epoch,
        bootId: this.#bootId,
        secret,
        usesCertificates,
        snappy: compression && snappy !== undefined,
        isPeer: (peer) => this.#peers.has(peer),
      },
      channels: new Map([...this.#channels].sort(([a], [b]) => (a < b ? -1 : 1))),
      onAuthenticated: (link) => this.#peers.get(link.peer.nodeId)?.admit(link),
      onUp: (link) => this.#peers.get(link.peer.nodeId)?.up(link),
      onEnded: (link, end) => this.#onEnded(link, end, dialedNodeId),
    };
  }

  #onEnded(link: PeerLink, end: LinkEnd, dialedNodeId: number | undefined): void {
    if (end.refusal !== undefined) {
      this.#refusals.add(link.connection.remote, end.refusal, end.why);
    }
    const nodeId = link.peerNodeId ?? dialedNodeId;
    if (nodeId !== undefined) this.#peers.get(nodeId)?.ended(link, end);
  }

  #wakeContactWaiters(): void {
    const isDone =
      this.#isClosed || [...this.#peers.values()].every(({ hasContact }) => hasContact);
    if (!isDone) return;
    for (const finish of this.#contactWaiters) finish();
  }

  #statusOf(peer: Peer): PeerStatus {
    const { nodeId, address, silentMs, lastError, reconnects } = peer;
    const sum = {
      lagOperations: 0,
      evictedOperations: 0,
      unackedOperations: 0,
      pendingOperations: 0,
      retries: 0,
    };
    let lagMs = 0;
    let behindMs: number | undefined;
    for (const channel of this.#channels.values()) {
      const status = channel.receiverStatus(nodeId);
      sum.pendingOperations += channel.pendingOf(nodeId);
      if (status === undefined) continue;
      sum.lagOperations += status.lagOperations;
      sum.evictedOperations += status.evictedOperations;
      sum.unackedOperations += status.unackedOperations;
      sum.retries += status.retries;
      lagMs = Math.max(lagMs, status.lagMs);
      if (status.behindMs !== undefined) behindMs = Math.max(behindMs ?? 0, status.behindMs);
    }
    const isBehind = peer.state === 'connected' && behindMs !== undefined;
    const state = isBehind ? 'behind' : peer.state;
    const sinceMs = isBehind ? this.#deps.clock.nowMs() - (behindMs ?? 0) : peer.sinceMs;
    return { nodeId, address, state, sinceMs, silentMs, ...sum, lagMs, reconnects, lastError };
  }

  #planGauges(): void {
    const delayMs = meshLimits.heartbeatIntervalMs.value;
    this.#gauges = this.#deps.clock.setTimer(delayMs, () => this.#setGauges(), { unref: true });
  }

  #setGauges(): void {
    for (const status of this.peers()) {
      const labels = { peer: String(status.nodeId) };
      this.#metrics.set('syncline_mesh_peer_state', peerStates[status.state], labels);
      this.#metrics.set('syncline_mesh_unacked_operations', status.unackedOperations, labels);
      this.#metrics.set('syncline_mesh_lag_operations', status.lagOperations, labels);
    }
    const sum = { operations: 0, bytes: 0, ringBytes: 0 };
    for (const channel of this.#channels.values()) {
      sum.operations += channel.pendingOperations;
      sum.bytes += channel.pendingBytes;
      sum.ringBytes += channel.ringBytes;
    }
    this.#metrics.set('syncline_mesh_pending_operations', sum.operations);
    this.#metrics.set('syncline_mesh_pending_bytes', sum.bytes);
    this.#metrics.set('syncline_mesh_ring_bytes', sum.ringBytes);
    this.#planGauges();
  }
}

function settingsOf(options: MeshOptions): Settings {
  const { nodeId } = options;
  const peers = options.peers.filter((peer) => peer.nodeId !== nodeId);
  const peersMax = meshLimits.peersMax.value;
  actorId(nodeId, 0); // checks the id
  if (peers.length > peersMax) {
    throw new SynclineError(
      'limit-exceeded',
      `${peers.length} peers; at most ${peersMax} are allowed`,
      {
        details: { limit: 'peersMax' },
      },
    );
  }
  const ids = new Set(peers.map((peer) => peer.nodeId));
  if (ids.size !== peers.length) {
    throw new SynclineError('invalid-argument', 'two peers have the same node id', {
      details: { field: 'peers' },
    });
  }
  return {
    usesCertificates: false,
    maxRetries: meshLimits.retriesMax.value,
    retryBackoffMs: meshLimits.retryBackoffMs.value,
    ackTimeoutMs: meshLimits.ackTimeoutMs.value,
    bufferSize: meshLimits.pendingOperationsMax.value,
    heartbeatIntervalMs: meshLimits.heartbeatIntervalMs.value,
    connectionTimeoutMs: meshLimits.connectionTimeoutMs.value,
    ringBytesMax: meshLimits.ringBytesMax.value,
    compression: false,
    ...options,
    peers,
  };
}
