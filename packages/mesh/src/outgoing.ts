// The sending side of a channel: a ring of recent operations that all peers share, and a cursor per peer.
//
// A connection gets as much as it accepts; the rest waits in the ring, so a slow peer costs no extra memory.
//
// M14  The ring frees only what every configured peer has applied, connected or not, or what its limits push out.
import type { Clock, Metrics, Random, Timer } from '@syncline/kernel';
import { AppliedWaiters } from './applied-waiters.js';
import type { ChannelLink } from './channel-link.js';
import type { NackReason } from './frame-codec.js';
import { meshLimits } from './limits.js';
import type { meshMetrics } from './metrics-list.js';
import { OperationRing } from './operation-ring.js';
import { type PushAction, PushCursor, type PushCursorOptions } from './push-cursor.js';

/** The most a connection accepts before closing: above its limit it would be cut. */
const LAST_PUSH_BYTES = meshLimits.connectionUnsentBytesMax.value - meshLimits.frameBytesMax.value;

export interface OutgoingDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics<keyof typeof meshMetrics>;
}

export interface OutgoingOptions extends PushCursorOptions {
  /** Node ids. */
  readonly peers: readonly number[];
  readonly ringBatchesMax: number;
  readonly ringBytesMax: number;
}

interface Receiver {
  readonly nodeId: number;
  readonly cursor: PushCursor;
  link: ChannelLink | undefined;
  isAwaitingDrain: boolean;
  retries: number;
  /** Its version is known. */
  isKnown: boolean;
  /** When the oldest operation was published that it has not applied; undefined: it has them all. */
  lagSinceMs: number | undefined;
  timer: Timer | undefined;
  timerDueMs: number;
}

export interface ReceiverStatus {
  /** How long it has been behind; undefined unless it is. */
  readonly behindMs: number | undefined;
  readonly lagOperations: number;
  readonly evictedOperations: number;
  readonly lagMs: number;
  readonly unackedOperations: number;
  readonly retries: number;
}

export class Outgoing {
  readonly #deps: OutgoingDeps;
  readonly #ring: OperationRing;
  readonly #receivers: readonly Receiver[];
  readonly #waiters = new AppliedWaiters((counter) => this.appliedCount(counter));

  constructor(deps: OutgoingDeps, options: OutgoingOptions) {
    const { ringBatchesMax, ringBytesMax } = options;
    this.#deps = deps;
    this.#ring = new OperationRing({ batchesMax: ringBatchesMax, bytesMax: ringBytesMax });
    this.#receivers = options.peers.map((nodeId) => ({
      nodeId,
      cursor: new PushCursor({ ring: this.#ring, random: deps.random }, options),
      link: undefined,
      isAwaitingDrain: false,
      retries: 0,
      isKnown: false,
      lagSinceMs: undefined,
      timer: undefined,
      timerDueMs: 0,
    }));
  }

  get ringBytes(): number {
    return this.#ring.bytes;
  }

  /** Operations published before `open` belong to the same actor. `last`: its counter so far. */
  open(last: number): void {
    if (this.#ring.last === 0) this.#ring.reset(last);
  }

  /** Switches to another actor, whose counter so far is `last`. No peer is connected. */
  reset(last: number): void {
    this.#ring.reset(last);
    for (const receiver of this.#receivers) {
      receiver.cursor.reset();
      receiver.lagSinceMs = undefined;
    }
  }

  /** The peer has our operations up to this counter. Nothing is sent before `pump`. */
  up(link: ChannelLink, counter: number): void {
    const receiver = this.#receiver(link.nodeId);
    if (receiver === undefined) return;
    receiver.link = link;
    receiver.cursor.up(counter);
    receiver.isKnown = true;
    this.#noteLag(receiver);
    this.#freeRing();
    this.#waiters.advanced(receiver.cursor.applied);
  }

  down(nodeId: number): void {
    const receiver = this.#receiver(nodeId);
    if (receiver === undefined) return;
    receiver.link = undefined;
    receiver.isAwaitingDrain = false;
    receiver.timer?.cancel();
    receiver.timer = undefined;
    receiver.cursor.down();
  }

  publish(encoded: Uint8Array, base: number, last: number): void {
    const nowMs = this.#deps.clock.monotonicMs();
    this.#ring.push(encoded, base, last, nowMs);
    this.#freeRing();
    for (const receiver of this.#receivers) {
      receiver.lagSinceMs ??= nowMs;
      this.#pump(receiver);
    }
  }

  pump(nodeId: number): void {
    const receiver = this.#receiver(nodeId);
    if (receiver !== undefined) this.#pump(receiver);
  }

  /** Passes everything unsent to the connections, which are about to close. */
  flush(): void {
    for (const receiver of this.#receivers) this.#pump(receiver, true);
  }

  onAck(nodeId: number, received: number, applied: number): void {
    const { clock, metrics } = this.#deps;
    const receiver = this.#receiver(nodeId);
    if (receiver === undefined) return;
    const { cursor } = receiver;
    const before = cursor.applied;
    const nowMs = clock.monotonicMs();
    if (!cursor.onAck(received, applied, nowMs)) return;
    if (cursor.applied > before) {
      const publishedMs = this.#ring.publishedMs(applied);
      if (publishedMs !== undefined) {
        const labels = { peer: String(nodeId) };
        metrics.observe('syncline_mesh_lag_seconds', (nowMs - publishedMs) / 1_000, labels);
      }
      this.#noteLag(receiver);
      this.#freeRing();
      this.#waiters.advanced(cursor.applied);
    }
    this.#pump(receiver);
  }

  onNack(nodeId: number, reason: Exclude<NackReason, 'evicted'>, expected: number): void {
    const receiver = this.#receiver(nodeId);
    if (receiver === undefined) return;
    receiver.cursor.onNack(reason, expected, this.#deps.clock.monotonicMs());
    this.#pump(receiver);
  }

  appliedCount(counter: number): number {
    let count = 0;
    for (const { cursor } of this.#receivers) if (cursor.applied >= counter) count += 1;
    return count;
  }

  whenApplied(counter: number, count: number, signal: AbortSignal): Promise<number> {
    return this.#waiters.wait(counter, count, signal);
  }

  statusOf(nodeId: number): ReceiverStatus | undefined {
    const receiver = this.#receiver(nodeId);
    if (receiver === undefined) return undefined;
    const { applied, received, sent, mode, behindSinceMs } = receiver.cursor;
    const nowMs = this.#deps.clock.monotonicMs();
    const ring = this.#ring;
    const evictedOperations = receiver.isKnown ? Math.max(0, ring.first - 1 - applied) : 0;
    const unacked = ring.operationsAfter(received) - ring.operationsAfter(Math.max(sent, received));
    return {
      behindMs: behindSinceMs === undefined ? undefined : nowMs - behindSinceMs,
      lagOperations: evictedOperations + ring.operationsAfter(applied),
      evictedOperations,
      lagMs: receiver.lagSinceMs === undefined ? 0 : nowMs - receiver.lagSinceMs,
      unackedOperations: mode === 'down' ? 0 : unacked,
      retries: receiver.retries,
    };
  }

  close(): void {
    for (const { nodeId } of this.#receivers) this.down(nodeId);
    this.#waiters.close();
  }

  #receiver(nodeId: number): Receiver | undefined {
    return this.#receivers.find((receiver) => receiver.nodeId === nodeId);
  }

  /** For operations that have left the ring, keeps the known time. */
  #noteLag(receiver: Receiver): void {
    const { applied } = receiver.cursor;
    const ring = this.#ring;
    if (applied >= ring.last) receiver.lagSinceMs = undefined;
    else if (ring.has(applied + 1)) receiver.lagSinceMs = ring.publishedMs(applied + 1);
    else receiver.lagSinceMs ??= this.#deps.clock.monotonicMs();
  }

  #freeRing(): void {
    let applied = Number.POSITIVE_INFINITY;
    for (const { cursor } of this.#receivers) applied = Math.min(applied, cursor.applied);
    this.#ring.free(applied);
  }

  #pump(receiver: Receiver, isLast = false): void {
    const { link, cursor } = receiver;
    if (link === undefined) return;
    const nowMs = this.#deps.clock.monotonicMs();
    const windowBytes = isLast ? LAST_PUSH_BYTES : meshLimits.pushWindowBytes.value;
    while (link.unsentBytes < windowBytes) {
      const action = cursor.next(nowMs, isLast);
      if (action === undefined) break;
      this.#perform(receiver, link, action);
      if (receiver.link !== link) return; // the connection ended meanwhile
    }
    if (link.unsentBytes >= windowBytes) {
      cursor.assess(nowMs);
      void this.#pumpWhenDrained(receiver, link);
    }
    this.#planTimer(receiver);
  }

  async #pumpWhenDrained(receiver: Receiver, link: ChannelLink): Promise<void> {
    if (receiver.isAwaitingDrain) return;
    receiver.isAwaitingDrain = true;
    try {
      await link.whenDrained();
    } catch {
      return; // the connection has ended, and so has this use of it
    }
    if (receiver.link !== link) return;
    receiver.isAwaitingDrain = false;
    this.#pump(receiver);
  }

  #perform(receiver: Receiver, link: ChannelLink, action: PushAction): void {
    if (action.kind === 'evicted') {
      link.send({ kind: 'nack', reason: 'evicted', expected: undefined });
      return;
    }
    if (action.isRetry) {
      receiver.retries += 1;
      this.#deps.metrics.add('syncline_mesh_retries_total');
    }
    link.sendOperations(action.slice.chunks);
  }

  /** The due time usually moves forward; a timer that fires too early is set again. */
  #planTimer(receiver: Receiver): void {
    const { clock } = this.#deps;
    const { dueMs } = receiver.cursor;
    if (dueMs === Number.POSITIVE_INFINITY) return;
    if (receiver.timer !== undefined) {
      if (receiver.timerDueMs <= dueMs) return;
      receiver.timer.cancel();
    }
    receiver.timerDueMs = dueMs;
    const delayMs = Math.max(0, dueMs - clock.monotonicMs());
    receiver.timer = clock.setTimer(delayMs, () => this.#onTimer(receiver), { unref: true });
  }

  #onTimer(receiver: Receiver): void {
    receiver.timer = undefined;
    const { link, cursor } = receiver;
    if (link === undefined) return;
    const action = cursor.onTimer(this.#deps.clock.monotonicMs(), link.unsentBytes);
    if (action !== undefined) this.#perform(receiver, link, action);
    this.#pump(receiver);
  }
}
