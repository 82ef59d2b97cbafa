// A mesh in one file, over links that lose, duplicate and reorder messages: for tests of replication alone.
//
// Operations are sent once and may get lost; they are not resent, so that pulls have work. A few that arrive too
// early may wait. Messages of pulls arrive in order or break the connection, as on a real one.
import {
  type ActorId,
  actorId,
  type Clock,
  type Random,
  type Timer,
  VersionVector,
} from '@syncline/kernel';
import type {
  ChannelHandler,
  DeliveredOperation,
  Mesh,
  MeshChannel,
  PeerStatus,
} from '@syncline/mesh';
import { decodeOperations } from '../operation/decode-operations.js';

const BEAT_MS = 300;
const SILENCE_MS = 2_000;
/** How long a message may be missing before the connection counts as broken. */
const GAP_MS = 500;

export interface FakeOperation extends DeliveredOperation {
  readonly dependencies: VersionVector;
}

export type FakeMessage =
  | { readonly kind: 'hello'; readonly link: number; readonly version: VersionVector }
  | { readonly kind: 'welcome'; readonly link: number; readonly version: VersionVector }
  | { readonly kind: 'beat'; readonly link: number; readonly version: VersionVector }
  | {
      readonly kind: 'control';
      readonly link: number;
      readonly number: number;
      readonly messageKind: number;
      readonly body: Uint8Array;
    }
  | { readonly kind: 'operation'; readonly operation: FakeOperation };

export interface FakeMeshDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Never fails; the message arrives once, twice or not at all. */
  send(peer: number, message: FakeMessage): void;
  /** Sees every operation that is published. */
  onPublished?(operation: FakeOperation): void;
  /** Sees every message of a pull that is sent. */
  onControl?(peer: number, messageKind: number, body: Uint8Array): void;
}

export interface FakeMeshOptions {
  readonly nodeId: number;
  readonly peers: readonly number[];
  /** Operations that may wait for their causes. */
  readonly pendingMax: number;
}

interface Connection {
  readonly link: number;
  version: VersionVector;
  heardMs: number;
  sent: number;
  taken: number;
  readonly ahead: Map<number, Extract<FakeMessage, { kind: 'control' }>>;
  gapSinceMs: number | undefined;
}

export class FakeMesh implements Mesh, MeshChannel {
  readonly #deps: FakeMeshDeps;
  readonly #options: FakeMeshOptions;
  readonly #connections = new Map<number, Connection>();
  readonly #pending = new Map<string, FakeOperation>();
  readonly #waits = new Set<() => void>();
  #handler: ChannelHandler | undefined;
  #timer: Timer | undefined;
  #epoch = 0;
  #isOpen = false;
  #isDraining = false;

  constructor(deps: FakeMeshDeps, options: FakeMeshOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  channel(_name: string, handler: ChannelHandler): MeshChannel {
    this.#handler = handler;
    return this;
  }

  open(epoch: number): void {
    this.#epoch = epoch;
    this.#isOpen = true;
    this.#beat();
  }

  changeEpoch(epoch: number): void {
    this.#epoch = epoch;
    for (const peer of [...this.#connections.keys()]) this.#disconnect(peer);
  }

  accept(): void {}

  async firstContact(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#connections.size < this.#options.peers.length)
      await this.#deps.clock.sleep(10, signal).catch(() => undefined);
  }

  peers(): readonly PeerStatus[] {
    return this.#options.peers.map((nodeId) => ({
      nodeId,
      address: `node-${nodeId}`,
      state: this.#connections.has(nodeId) ? ('connected' as const) : ('down' as const),
      sinceMs: 0,
      silentMs: undefined,
      lagOperations: 0,
      evictedOperations: 0,
      lagMs: 0,
      unackedOperations: 0,
      pendingOperations: this.#pending.size,
      retries: 0,
      reconnects: 0,
      lastError: undefined,
    }));
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    this.#timer?.cancel();
    for (const peer of [...this.#connections.keys()]) this.#disconnect(peer);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  publish(encoded: Uint8Array, base: number, last: number): void {
    let next = base;
    for (const { actor, base: first, count, dependencies, start, end } of decodeOperations(
      encoded,
    )) {
      const isOwn = actor === actorId(this.#options.nodeId, this.#epoch) || !this.#isOpen;
      if (!isOwn || first !== next) throw new RangeError('published out of order');
      next += count;
      const bytes = encoded.slice(start, end);
      const place = { bytes, start: 0, end: bytes.length };
      const operation = { actor, base: first, count, dependencies, ...place };
      this.#deps.onPublished?.(operation);
      for (const peer of this.#connections.keys())
        this.#deps.send(peer, { kind: 'operation', operation });
    }
    if (next !== last + 1) throw new RangeError('published with a gap');
  }

  committed(): void {
    this.#beatNow();
  }

  resume(): void {
    this.#drain();
  }

  send(peer: number, messageKind: number, body: Uint8Array): boolean {
    const connection = this.#connections.get(peer);
    if (connection === undefined) return false;
    const { link, sent: number } = connection;
    connection.sent += 1;
    this.#deps.onControl?.(peer, messageKind, body);
    this.#deps.send(peer, { kind: 'control', link, number, messageKind, body });
    return true;
  }

  async askVersions(count: number, signal: AbortSignal): Promise<readonly VersionVector[]> {
    while (!signal.aborted && this.#connections.size < count) await this.#change(signal);
    return [...this.#connections.values()].map(({ version }) => version);
  }

  appliedCount(counter: number): number {
    const own = actorId(this.#options.nodeId, this.#epoch);
    const versions = [...this.#connections.values()].map(({ version }) => version);
    return versions.filter((version) => version.counterOf(own) >= counter).length;
  }

  async whenApplied(counter: number, count: number, signal: AbortSignal): Promise<number> {
    while (!signal.aborted && this.appliedCount(counter) < count) await this.#change(signal);
    return this.appliedCount(counter);
  }

  connectedPeers(): readonly number[] {
    return [...this.#connections.keys()];
  }

  receive(peer: number, message: FakeMessage): void {
    if (!this.#isOpen) return;
    if (message.kind === 'operation') {
      this.#receiveOperation(peer, message.operation);
      return;
    }
    const { link } = message;
    if (message.kind === 'hello') {
      if (this.#connections.get(peer)?.link !== link) this.#connect(peer, link, message.version);
      const version = this.#ownVersion();
      this.#deps.send(peer, { kind: 'welcome', link, version });
      return;
    }
    if (message.kind === 'welcome') {
      if (!this.#connections.has(peer)) this.#connect(peer, link, message.version);
      return;
    }
    const connection = this.#connections.get(peer);
    if (connection?.link !== link) return;
    connection.heardMs = this.#deps.clock.monotonicMs();
    if (message.kind === 'beat') {
      connection.version = connection.version.copy().merge(message.version);
      for (const wake of [...this.#waits]) wake();
      return;
    }
    if (message.number >= connection.taken) connection.ahead.set(message.number, message);
    this.#takeControls(peer, connection);
  }

  #takeControls(peer: number, connection: Connection): void {
    for (;;) {
      const next = connection.ahead.get(connection.taken);
      if (next === undefined) break;
      connection.ahead.delete(connection.taken);
      connection.taken += 1;
      try {
        this.#handler?.message(peer, next.messageKind, next.body);
      } catch {
        this.#disconnect(peer);
        return;
      }
    }
    const isGap = connection.ahead.size > 0;
    connection.gapSinceMs = isGap
      ? (connection.gapSinceMs ?? this.#deps.clock.monotonicMs())
      : undefined;
  }

  #receiveOperation(peer: number, operation: FakeOperation): void {
    const { actor, base, count } = operation;
    const key = `${actor}:${base}`;
    const applied = this.#handler?.appliedCounter(actor) ?? 0;
    if (applied >= base + count - 1 || this.#pending.has(key)) return;
    if (this.#pending.size >= this.#options.pendingMax && !this.#isReady(operation)) {
      this.#handler?.pullWanted(peer, 'overflow');
      return;
    }
    this.#pending.set(key, operation);
    this.#drain();
    if (this.#pending.has(key) && this.#deps.random.float() < 0.2)
      this.#handler?.pullWanted(peer, 'gap');
  }

  #isReady({ actor, base, dependencies }: FakeOperation): boolean {
    const applied = (of: ActorId) => this.#handler?.appliedCounter(of) ?? 0;
    if (applied(actor) !== base - 1) return false;
    return dependencies.entries().every((dot) => dot.counter <= applied(dot.actor));
  }

  #drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    for (let isMoving = true; isMoving; ) {
      isMoving = false;
      for (const [key, operation] of this.#pending) {
        const { actor, base, count } = operation;
        if ((this.#handler?.appliedCounter(actor) ?? 0) >= base + count - 1) {
          this.#pending.delete(key);
        } else if (this.#isReady(operation) && this.#handler?.deliver(operation) === 'taken') {
          this.#pending.delete(key);
          isMoving = true;
        }
      }
    }
    this.#isDraining = false;
  }

  #connect(peer: number, link: number, version: VersionVector): void {
    this.#disconnect(peer);
    this.#connections.set(peer, {
      link,
      version,
      heardMs: this.#deps.clock.monotonicMs(),
      sent: 0,
      taken: 0,
      ahead: new Map(),
      gapSinceMs: undefined,
    });
    this.#handler?.peerUp(peer, version);
    for (const wake of [...this.#waits]) wake();
  }

  #disconnect(peer: number): void {
    if (this.#connections.delete(peer)) this.#handler?.peerDown(peer);
  }

  #ownVersion(): VersionVector {
    return this.#handler?.version() ?? new VersionVector();
  }

  /** The lower id dials. */
  #beat(): void {
    const { clock, random } = this.#deps;
    if (!this.#isOpen) return;
    const nowMs = clock.monotonicMs();
    for (const [peer, { heardMs, gapSinceMs }] of this.#connections)
      if (nowMs - heardMs > SILENCE_MS || nowMs - (gapSinceMs ?? nowMs) > GAP_MS)
        this.#disconnect(peer);
    for (const peer of this.#options.peers)
      if (!this.#connections.has(peer) && this.#options.nodeId < peer)
        this.#deps.send(peer, { kind: 'hello', link: random.u32(), version: this.#ownVersion() });
    this.#beatNow();
    this.#timer = clock.setTimer(BEAT_MS, () => this.#beat());
  }

  #beatNow(): void {
    for (const [peer, { link }] of this.#connections)
      this.#deps.send(peer, { kind: 'beat', link, version: this.#ownVersion() });
  }

  /** Resolves when something was received, or the signal fires. */
  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#waits.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waits.add(wake);
      signal.addEventListener('abort', wake);
    });
  }
}
