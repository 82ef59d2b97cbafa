// One configured peer: dials it while there is no connection, and decides which one to keep if there are two.
//
// Both sides dial, the one with the higher node id a little later. Of two connections between the same two
// processes the one dialed by the lower id is kept, so that both sides choose the same one. The peer may close
// the other one before ours has finished its handshake: meanwhile it counts as connected. Another process with
// the peer's node id is only accepted when the old one has been silent for a while.
//
// M30  A peer has at most one connection in use, and both sides agree on which.
// M31  While there is none it is dialed repeatedly, with growing delays and full jitter.
import {
  backoffMs,
  type Clock,
  formatAddress,
  type Logger,
  type Metrics,
  type Network,
  type Random,
  SynclineError,
  type Timer,
} from '@syncline/kernel';
import type { CloseCode } from './frame-codec.js';
import { meshLimits } from './limits.js';
import type { MeshPeer } from './mesh.js';
import type { meshMetrics } from './metrics-list.js';
import type { LinkEnd, PeerLink } from './peer-link.js';

export interface PeerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly network: Network;
  readonly logger: Logger;
  readonly metrics: Metrics<keyof typeof meshMetrics>;
  /** Runs the handshake on a connection that was dialed. */
  startLink(connection: Awaited<ReturnType<Network['connect']>>, dialedNodeId: number): PeerLink;
  /** The first attempt has succeeded or failed. */
  onContact(): void;
}

export interface PeerOptions extends MeshPeer {
  readonly ownNodeId: number;
  readonly heartbeatIntervalMs: number;
}

export type PeerState = 'connecting' | 'connected' | 'down';

const backoff = {
  initialMs: meshLimits.reconnectBackoffMs.value,
  maxMs: meshLimits.reconnectBackoffMsMax.value,
} as const;

/** Nodes that start or stop together are unreachable for a moment, which is no reason to warn. */
const WARN_AFTER_MS = 5_000;

export class Peer {
  readonly nodeId: number;
  readonly address: string;
  readonly #deps: PeerDeps;
  readonly #options: PeerOptions;
  /** Authenticated, and in use. */
  #link: PeerLink | undefined;
  /** When the last byte of a connection came that has ended. */
  #lastReceivedMs: number | undefined;
  #upMs = 0;
  #state: PeerState = 'down';
  #sinceMs: number;
  #lastError: string | undefined;
  #wasUp = false;
  /** The connection in use, or the next one, replaces one that the other side dialed, so it is not a reconnect. */
  #isTwin = false;
  #reconnects = 0;
  #hasContact = false;
  /** Whether it is to be dialed at all. */
  #isOpen = false;
  #attempt = 0;
  /** Since when there is no connection. */
  #downMs = 0;
  /** The failure that was logged as a warning since the last connection. */
  #warned: string | undefined;
  #redial: Timer | undefined;
  #dialing: AbortController | undefined;

  constructor(deps: PeerDeps, options: PeerOptions) {
    this.nodeId = options.nodeId;
    this.address = formatAddress(options);
    this.#deps = deps;
    this.#options = options;
    this.#sinceMs = deps.clock.nowMs();
  }

  /** Since the last byte of the peer, over any connection; undefined before the first. */
  get silentMs(): number | undefined {
    if (this.#link !== undefined) return this.#link.silentMs;
    const lastMs = this.#lastReceivedMs;
    return lastMs === undefined ? undefined : this.#deps.clock.monotonicMs() - lastMs;
  }

  get state(): PeerState {
    return this.#state;
  }

  /** Wall clock. */
  get sinceMs(): number {
    return this.#sinceMs;
  }

  get lastError(): string | undefined {
    return this.#lastError;
  }

  get reconnects(): number {
    return this.#reconnects;
  }

  /** Whether the first attempt has had an outcome. */
  get hasContact(): boolean {
    return this.#hasContact;
  }

  open(): void {
    this.#isOpen = true;
    this.#downMs = this.#deps.clock.monotonicMs();
    const { nodeId, ownNodeId } = this.#options;
    // The lower id gets a head start, so that mostly there is only one connection.
    this.#dialAfter(ownNodeId < nodeId ? 0 : meshLimits.reconnectBackoffMs.value);
  }

  close(code: CloseCode, why: string): void {
    this.#isOpen = false;
    this.#stopDialling();
    this.#link?.close(code, why);
  }

  /** A connection is authenticated as this peer. A code refuses it. */
  admit(link: PeerLink): CloseCode | undefined {
    const old = this.#link;
    const refusal = old === undefined ? undefined : this.#choose(old, link);
    if (refusal !== undefined) return refusal;
    if (old !== undefined) this.#isTwin = old.isUp && this.#areTwins(old, link);
    this.#link = link;
    old?.close('duplicate', 'replaced by another connection');
    this.#stopDialling();
    return undefined;
  }

  up(link: PeerLink): void {
    if (this.#link !== link) return;
    const { logger, metrics, clock } = this.#deps;
    const fields = { peer: this.nodeId, dialed: link.isDialed };
    if (this.#isTwin) logger.debug('peer connection replaced', fields);
    else logger.info('peer connected', fields);
    if (this.#wasUp && !this.#isTwin) {
      this.#reconnects += 1;
      metrics.add('syncline_mesh_reconnects_total');
    }
    this.#wasUp = true;
    this.#warned = undefined;
    this.#upMs = clock.monotonicMs();
    this.#setState('connected');
    this.#contacted();
  }

  /** A connection of this peer, or one that was dialed to it, has ended. */
  ended(link: PeerLink, { why, isDuplicate = false }: LinkEnd): void {
    const isCurrent = this.#link === link;
    if (!isCurrent && (this.#link !== undefined || !link.isDialed)) return;
    const { clock } = this.#deps;
    if (isCurrent) this.#lastReceivedMs = clock.monotonicMs() - link.silentMs;
    this.#link = undefined;
    if (isCurrent && isDuplicate && this.#state === 'connected') {
      this.#awaitTwin(why);
      return;
    }
    this.#lose(why);
  }

  #choose(old: PeerLink, link: PeerLink): CloseCode | undefined {
    const { nodeId, ownNodeId, heartbeatIntervalMs } = this.#options;
    if (old.silentMs >= 2 * heartbeatIntervalMs) return undefined;
    if (Buffer.compare(old.peer.bootId, link.peer.bootId) !== 0) return 'node-id-in-use';
    if (!this.#areTwins(old, link)) return undefined; // the dialer has abandoned the old one
    return link.isDialed === ownNodeId < nodeId ? undefined : 'duplicate';
  }

  /** Both sides have dialed: replacing one by the other is not a reconnect. */
  #areTwins(old: PeerLink, link: PeerLink): boolean {
    const isSilent = old.silentMs >= 2 * this.#options.heartbeatIntervalMs;
    return !isSilent && old.isDialed !== link.isDialed;
  }

  #lose(why: string): void {
    const { clock, logger } = this.#deps;
    this.#isTwin = false;
    if (this.#state !== 'connected') {
      this.#failed(why);
      return;
    }
    logger.info('peer disconnected', { peer: this.nodeId, reason: why });
    this.#downMs = clock.monotonicMs();
    const livedMs = this.#downMs - this.#upMs;
    if (livedMs >= meshLimits.reconnectBackoffMsMax.value) this.#attempt = 0;
    this.#goDown(why);
  }

  /** Both sides have dialed, and the peer has chosen the other connection, which is about to come up here. */
  #awaitTwin(why: string): void {
    this.#isTwin = true;
    this.#redial?.cancel();
    const delayMs = 2 * this.#options.heartbeatIntervalMs;
    this.#redial = this.#deps.clock.setTimer(delayMs, () => this.#lose(why), { unref: true });
  }

  #retryLater(): void {
    if (!this.#isOpen) return;
    this.#dialAfter(backoffMs(this.#attempt, backoff, this.#deps.random));
    this.#attempt += 1;
  }

  #dialAfter(delayMs: number): void {
    this.#redial?.cancel();
    this.#redial = this.#deps.clock.setTimer(delayMs, () => void this.#dial(), { unref: true });
  }

  async #dial(): Promise<void> {
    if (!this.#isOpen || this.#link !== undefined || this.#dialing !== undefined) return;
    const dialing = new AbortController();
    this.#dialing = dialing;
    if (!this.#hasContact) this.#setState('connecting'); // later it stays down until it is connected
    const { host, port, nodeId } = this.#options;
    try {
      const { signal } = dialing;
      const connection = await this.#deps.network.connect({ host, port }, { signal });
      if (this.#dialing === dialing) this.#deps.startLink(connection, nodeId);
      else connection.destroy();
    } catch (thrown) {
      if (this.#dialing !== dialing) return;
      this.#dialing = undefined;
      this.#failed(SynclineError.from(thrown).message);
    } finally {
      if (this.#dialing === dialing) this.#dialing = undefined;
    }
  }

  /** A dial or a handshake has failed. */
  #failed(why: string): void {
    const { logger, clock } = this.#deps;
    const isLong = this.#isOpen && clock.monotonicMs() - this.#downMs >= WARN_AFTER_MS;
    const fields = { peer: this.nodeId, address: this.address, reason: why };
    if (!isLong) logger.debug('peer dial failed', fields);
    else if (why !== this.#warned) {
      logger.warn('cannot connect to peer', fields); // repeats are not logged
      this.#warned = why;
    }
    this.#goDown(why);
  }

  /** There is no connection now. */
  #goDown(why: string): void {
    this.#lastError = why;
    this.#setState('down');
    this.#retryLater();
    this.#contacted();
  }

  #stopDialling(): void {
    this.#redial?.cancel();
    this.#dialing?.abort();
    this.#dialing = undefined;
  }

  #contacted(): void {
    if (this.#hasContact) return;
    this.#hasContact = true;
    this.#deps.onContact();
  }

  #setState(state: PeerState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#sinceMs = this.#deps.clock.nowMs();
  }
}
