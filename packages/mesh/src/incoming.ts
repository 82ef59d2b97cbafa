// The receiving side of a channel: delivers operations in causal order, each once, and acknowledges them.
//
// Operations that are ready are delivered as they arrive; others are held. When the buffer for those is full,
// new ones are dropped: the peer is notified, its later operations are dropped unread until the gap is closed,
// and the channel is asked to pull. A connection is always read, since a pull uses the same one.
//
// What was delivered may be undone before it is committed, without notice. So acknowledgements are computed from
// `version()` alone, and until everything is committed a timer looks for operations that a peer believes we have.
//
// M23  An operation is delivered once, and only when everything that it depends on is applied.
// M24  `applied` is what is committed, `received` what is committed or held. Nothing else is ever acknowledged.
// M25  A dropped operation is answered with a Nack and starts a pull, once per gap.
// M26  A peer that sends operations of another actor, or malformed ones, is disconnected.
import {
  type ActorId,
  assert,
  type Clock,
  type Metrics,
  nodeOf,
  type Timer,
} from '@syncline/kernel';
import { type NackReason, peerFault } from './frame-codec.js';
import { meshLimits } from './limits.js';
import type { ChannelHandler } from './mesh.js';
import type { meshMetrics } from './metrics-list.js';
import { type OperationHead, readOperationHeads } from './operation-head.js';
import { PendingOperations, type PendingOptions, readiness } from './pending-operations.js';

export interface IncomingDeps {
  readonly clock: Clock;
  readonly metrics: Metrics<keyof typeof meshMetrics>;
  readonly handler: ChannelHandler;
}

export interface IncomingOptions extends PendingOptions {
  /** A Nack is not repeated within this time. */
  readonly ackTimeoutMs: number;
}

/** A connected peer, as this side needs it. */
export interface Sender {
  readonly nodeId: number;
  /** Its only actor. */
  readonly actor: ActorId;
  sendAck(received: number, applied: number): void;
  sendNack(reason: NackReason, expected: number): void;
  /** Ends the connection because of what was received. */
  refuse(why: string): void;
}

interface Source {
  readonly sender: Sender;
  /** What was acknowledged over this connection. */
  received: number;
  applied: number;
  /** A duplicate arrived: the acknowledgement may have been lost. */
  mustAck: boolean;
  /** The first dropped operation, until it arrives. 0: none. */
  gapFrom: number;
  nackedCounter: number;
  nackedMs: number;
  /** The operation that waits for a cause of another actor, and when that is worth a pull. */
  stuckBase: number;
  stuckPullMs: number;
}

export class Incoming {
  readonly #deps: IncomingDeps;
  readonly #options: IncomingOptions;
  readonly #pending: PendingOperations;
  readonly #sources = new Map<ActorId, Source>();
  readonly #appliedCounter: (actor: ActorId) => number;
  #isWaiting = false;
  #isClosed = false;
  #isDraining = false;
  #acks: Timer | undefined;
  #drainRest: Timer | undefined;
  #check: Timer | undefined;

  constructor(deps: IncomingDeps, options: IncomingOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#pending = new PendingOperations(options);
    this.#appliedCounter = (actor) => deps.handler.appliedCounter(actor);
  }

  get pendingOperations(): number {
    return this.#pending.operationsCount;
  }

  get pendingBytes(): number {
    return this.#pending.bytesCount;
  }

  pendingOf(nodeId: number): number {
    let count = 0;
    for (const actor of this.#pending.actors()) {
      if (nodeOf(actor) === nodeId) count += this.#pending.countOf(actor);
    }
    return count;
  }

  up(sender: Sender): void {
    for (const actor of [...this.#pending.actors()]) {
      // It has a new epoch. Held operations of the old one arrive with the pull that follows.
      if (nodeOf(actor) === sender.nodeId && actor !== sender.actor) this.#pending.dropAll(actor);
    }
    this.#sources.set(sender.actor, {
      sender,
      received: 0,
      applied: 0,
      mustAck: false,
      gapFrom: 0,
      nackedCounter: 0,
      nackedMs: Number.NEGATIVE_INFINITY,
      stuckBase: 0,
      stuckPullMs: Number.POSITIVE_INFINITY,
    });
  }

  down(sender: Sender): void {
    if (this.#sources.get(sender.actor)?.sender === sender) this.#sources.delete(sender.actor);
  }

  receive(sender: Sender, encoded: Uint8Array): void {
    const source = this.#sources.get(sender.actor);
    if (source?.sender !== sender) return;
    this.#acks ??= this.#deps.clock.defer(() => this.#flushAcks());
    this.#planCheck();
    const refusal = this.#takeAll(source, encoded);
    if (refusal === undefined) this.#nackGap(source);
    else sender.refuse(refusal);
  }

  committed(): void {
    this.#flushAcks();
  }

  resume(): void {
    this.#isWaiting = this.#isClosed;
    this.#drain();
  }

  /** Ends all timers. Nothing is delivered any more. */
  close(): void {
    this.#isClosed = true;
    this.#isWaiting = true;
    this.#acks?.cancel();
    this.#drainRest?.cancel();
    this.#check?.cancel();
    this.#sources.clear();
  }

  /** Returns why to disconnect the peer, if so. */
  #takeAll(source: Source, encoded: Uint8Array): string | undefined {
    try {
      for (const operation of readOperationHeads(encoded)) {
        if (this.#sources.get(operation.actor) !== source) return 'an operation of another actor';
        const refusal = this.#take(source, operation);
        if (refusal !== undefined) return refusal;
      }
      return undefined;
    } catch (thrown) {
      return peerFault(thrown);
    }
  }

  #take(source: Source, operation: OperationHead): string | undefined {
    const { actor, base } = operation;
    if (source.gapFrom > 0 && this.#appliedCounter(actor) >= source.gapFrom) source.gapFrom = 0;
    if (source.gapFrom > 0 && base > source.gapFrom) {
      this.#deps.metrics.add('syncline_mesh_overflow_total');
      return undefined;
    }
    switch (readiness(operation, this.#appliedCounter)) {
      case 'duplicate':
        return this.#noteDuplicate(source);
      case 'overlapping':
        return 'an operation that was applied in part';
      case 'ready':
        if (this.#isWaiting || this.#deliver(operation) === 'wait') break;
        if (base === source.gapFrom) source.gapFrom = 0;
        this.#drain();
        return undefined;
      default:
    }
    return this.#hold(source, operation);
  }

  #hold(source: Source, operation: OperationHead): string | undefined {
    switch (this.#pending.hold(operation)) {
      case 'duplicate':
        return this.#noteDuplicate(source);
      case 'overlapping':
        return 'operations whose counters overlap';
      case 'full':
        this.#drop(source, operation);
        return undefined;
      default:
        if (operation.base === source.gapFrom) source.gapFrom = 0;
        return undefined;
    }
  }

  #noteDuplicate(source: Source): undefined {
    source.mustAck = true;
    this.#deps.metrics.add('syncline_mesh_duplicates_total');
  }

  #drop(source: Source, operation: OperationHead): void {
    const { sender } = source;
    this.#deps.metrics.add('syncline_mesh_overflow_total');
    if (source.gapFrom === operation.base) return; // a resend came too early
    source.gapFrom = operation.base;
    const has = this.#pending.heldThrough(sender.actor, this.#appliedCounter(sender.actor));
    sender.sendNack('overflow', has + 1);
    this.#deps.handler.pullWanted(sender.nodeId, 'overflow');
  }

  /** A malformed body throws. */
  #deliver(operation: OperationHead): 'taken' | 'wait' {
    const verdict = this.#deps.handler.deliver(operation);
    const { actor, last } = operation;
    if (verdict === 'wait') this.#isWaiting = true;
    else assert(this.#appliedCounter(actor) >= last, 'M23: what was taken is applied');
    return verdict;
  }

  /** Delivers ready operations, until the channel says 'wait' or other work should run. */
  #drain(): void {
    const isLater = this.#drainRest !== undefined; // enough for this turn
    if (isLater || this.#isDraining || this.#pending.operationsCount === 0) return;
    this.#isDraining = true;
    let left: number = meshLimits.drainOperationsMax.value;
    for (; left > 0 && !this.#isWaiting; left -= 1) {
      const operation = this.#pending.nextReady(this.#appliedCounter);
      if (operation === undefined) break;
      if (this.#deliverHeld(operation) === 'taken') this.#pending.drop(operation.actor);
    }
    this.#isDraining = false;
    if (left > 0) return;
    this.#drainRest = this.#deps.clock.defer(() => {
      this.#drainRest = undefined;
      this.#drain();
    });
  }

  #deliverHeld(operation: OperationHead): 'taken' | 'wait' {
    try {
      return this.#deliver(operation);
    } catch (thrown) {
      const why = peerFault(thrown);
      const source = this.#sources.get(operation.actor);
      source?.sender.refuse(why);
      return 'taken'; // it is abandoned; those behind it wait for a repair
    }
  }

  #flushAcks(): void {
    this.#acks?.cancel();
    this.#acks = undefined;
    if (this.#sources.size === 0) return;
    const version = this.#deps.handler.version();
    for (const [actor, source] of this.#sources) {
      const applied = version.counterOf(actor);
      const received = this.#pending.heldThrough(actor, applied);
      const isNew = received > source.received || applied > source.applied;
      if (!isNew && !source.mustAck) continue;
      source.mustAck = false;
      source.received = Math.max(received, source.received);
      source.applied = applied;
      source.sender.sendAck(received, applied);
    }
  }

  /** Makes the peer resend what is missing before the lowest held operation, or what was undone after its receipt. */
  #nackGap(source: Source): void {
    const { sender } = source;
    if (source.gapFrom > 0) return;
    const nowMs = this.#deps.clock.monotonicMs();
    const expected = this.#appliedCounter(sender.actor) + 1;
    const lowest = this.#pending.lowest(sender.actor);
    const isMissing = lowest === undefined ? source.received >= expected : lowest.base > expected;
    if (!isMissing) return;
    const isRepeat = source.nackedCounter === expected;
    if (isRepeat && nowMs - source.nackedMs < this.#options.ackTimeoutMs) return;
    source.nackedCounter = expected;
    source.nackedMs = nowMs;
    sender.sendNack('gap', expected);
  }

  #planCheck(): void {
    const delayMs = meshLimits.unsettledCheckMs.value;
    this.#check ??= this.#deps.clock.setTimer(delayMs, () => this.#checkUnsettled(), {
      unref: true,
    });
  }

  #checkUnsettled(): void {
    this.#check = undefined;
    this.#flushAcks();
    const version = this.#deps.handler.version();
    for (const source of [...this.#sources.values()]) {
      const { actor } = source.sender;
      this.#nackGap(source);
      this.#pullIfStuck(source);
      const committed = version.counterOf(actor);
      const isSettled =
        committed === this.#appliedCounter(actor) &&
        committed >= source.received &&
        this.#pending.countOf(actor) === 0;
      if (!isSettled) this.#planCheck();
    }
  }

  /** Its cause may never be pushed: the node that made it can be gone. But the peer that depends on it has it. */
  #pullIfStuck(source: Source): void {
    const { actor, nodeId } = source.sender;
    const lowest = this.#pending.lowest(actor);
    const isStuck = !this.#isWaiting && lowest?.base === this.#appliedCounter(actor) + 1;
    if (!isStuck) {
      source.stuckBase = 0;
      return;
    }
    const nowMs = this.#deps.clock.monotonicMs();
    if (source.stuckBase !== lowest.base) {
      source.stuckBase = lowest.base;
      source.stuckPullMs = nowMs + meshLimits.stuckMs.value;
    } else if (nowMs >= source.stuckPullMs) {
      source.stuckPullMs = nowMs + meshLimits.pullRequestMs.value;
      this.#deps.handler.pullWanted(nodeId, 'gap');
    }
  }
}
