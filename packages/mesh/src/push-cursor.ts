// The position of one peer in the ring of a channel, and what to send it next. No I/O: the caller sends what
// `next` and `onTimer` return, and calls `onTimer` when `dueMs` is reached.
//
//   down ------> live ----------> overflowed   it dropped some: one frame at a time, as retries
//     ^          ^  | \             |
//     |          |  |  '----------> behind      what it needs has left the ring, or it does not answer: it has to
//     |          +--+---(an Ack)----+           pull
//   (any)
//
// None of this is stored: after a restart the versions that peers exchange show what is missing.
//
// M11  Operations go out in the order of their counters, with no gap, and again from the first one that the peer
//      lacks after a Nack, a timeout or a new connection.
// M12  After `maxRetries` resends without an answer the peer is asked to pull, and gets nothing until it acknowledges.
// M13  What a peer has `applied` is only what it has committed; the ring keeps everything after it.
// M15  A peer is sent at most `pushAheadOperations` operations, or `pushAheadBytes`, that it has not applied. Without this
//      a node that writes faster than a peer applies would fill the peer's buffer, and send most of it again.
import { assert, backoffMs, type Random } from '@syncline/kernel';
import type { NackReason } from './frame-codec.js';
import { meshLimits } from './limits.js';
import type { OperationRing, RingSlice } from './operation-ring.js';

export interface PushCursorDeps {
  readonly ring: OperationRing;
  readonly random: Random;
}

export interface PushCursorOptions {
  readonly maxRetries: number;
  readonly retryBackoffMs: number;
  readonly ackTimeoutMs: number;
}

export type PushMode = 'down' | 'live' | 'overflowed' | 'behind';

export type PushAction =
  | { readonly kind: 'operations'; readonly slice: RingSlice; readonly isRetry: boolean }
  /** «Pull from me.» */
  | { readonly kind: 'evicted' };

/** Upper bound of the delay of a resend. */
const retryBackoffMsMax = 60_000;

export class PushCursor {
  readonly #deps: PushCursorDeps;
  readonly #options: PushCursorOptions;
  #mode: PushMode = 'down';
  #sent = 0;
  #received = 0;
  #applied = 0;
  #attempt = 0;
  #dueMs = Number.POSITIVE_INFINITY;
  #isPullWanted = false;
  #behindSinceMs = 0;

  constructor(deps: PushCursorDeps, options: PushCursorOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  get mode(): PushMode {
    return this.#mode;
  }

  /** Committed at the peer, as far as we know. Outlives connections. */
  get applied(): number {
    return this.#applied;
  }

  get received(): number {
    return this.#received;
  }

  get sent(): number {
    return this.#sent;
  }

  /** Monotonic time; undefined unless it is behind. */
  get behindSinceMs(): number | undefined {
    return this.#mode === 'behind' ? this.#behindSinceMs : undefined;
  }

  /** When `onTimer` is to be called. Infinite: not at all. */
  get dueMs(): number {
    return this.#dueMs;
  }

  /** A connection is up. The peer has our operations up to this counter. */
  up(counter: number): void {
    this.#mode = 'live';
    this.#sent = counter;
    this.#received = counter;
    this.#applied = counter;
    this.#attempt = 0;
    this.#dueMs = Number.POSITIVE_INFINITY;
    this.#isPullWanted = false;
  }

  down(): void {
    this.#mode = 'down';
    this.#dueMs = Number.POSITIVE_INFINITY;
    this.#isPullWanted = false;
  }

  /** For a new epoch: no peer has an operation of the new actor. */
  reset(): void {
    this.down();
    this.#sent = 0;
    this.#received = 0;
    this.#applied = 0;
  }

  /** Notices that what the peer needs next has left the ring. */
  assess(nowMs: number): void {
    if (this.#mode !== 'live' || this.#sent >= this.#deps.ring.last) return;
    if (!this.#deps.ring.has(this.#sent + 1)) this.#fallBehind(nowMs);
  }

  /** What to send now. `isLast`: everything, since nothing is sent later. */
  next(nowMs: number, isLast = false): PushAction | undefined {
    this.assess(nowMs);
    const hasMore = this.#mode === 'live' && this.#sent < this.#deps.ring.last;
    if (hasMore && (isLast || !this.#isFarAhead())) return this.#push(nowMs);
    if (!this.#isPullWanted) return undefined;
    this.#isPullWanted = false;
    return { kind: 'evicted' };
  }

  /** Whether the peer's state changed: operations may be freed, and `next` may return something. */
  onAck(received: number, applied: number, nowMs: number): boolean {
    const receivedNow = Math.max(received, applied);
    const isNew = receivedNow > this.#received || applied > this.#applied;
    if (!isNew || this.#mode === 'down') return false;
    this.#received = Math.max(this.#received, receivedNow);
    this.#applied = Math.max(this.#applied, applied);
    this.#attempt = 0;
    if (this.#mode === 'live') this.#sent = Math.max(this.#sent, this.#received);
    else this.#resumeAfter(this.#received, nowMs);
    this.#planRetry(nowMs);
    return true;
  }

  onNack(reason: Exclude<NackReason, 'evicted'>, expected: number, nowMs: number): void {
    const { ring } = this.#deps;
    if (this.#mode === 'down' || this.#mode === 'behind' || expected > ring.last) return;
    if (!ring.has(expected)) {
      this.#fallBehind(nowMs);
      return;
    }
    this.#sent = Math.min(this.#sent, expected - 1);
    this.#received = Math.min(this.#received, expected - 1);
    this.#mode = reason === 'gap' ? 'live' : 'overflowed';
    // Not later than planned: repeated Nacks must not postpone it forever.
    if (this.#dueMs === Number.POSITIVE_INFINITY) this.#planRetry(nowMs);
  }

  /** `unsentBytes` above 0: the peer cannot have received everything yet. */
  onTimer(nowMs: number, unsentBytes: number): PushAction | undefined {
    if (this.#mode === 'down' || nowMs < this.#dueMs) return undefined;
    if (this.#mode === 'behind') {
      this.#isPullWanted = true;
      this.#dueMs = nowMs + meshLimits.pullRequestMs.value;
      return this.next(nowMs);
    }
    if (unsentBytes > 0) {
      this.#planRetry(nowMs);
      return undefined;
    }
    if (this.#attempt >= this.#options.maxRetries || !this.#deps.ring.has(this.#received + 1)) {
      this.#fallBehind(nowMs);
      return this.next(nowMs);
    }
    const slice = this.#deps.ring.read(this.#received + 1);
    this.#attempt += 1;
    this.#sent = Math.max(this.#sent, slice.last);
    this.#planRetry(nowMs);
    return { kind: 'operations', slice, isRetry: true };
  }

  #isFarAhead(): boolean {
    const { ring } = this.#deps;
    const { pushAheadOperations, pushAheadBytes } = meshLimits;
    const isUncounted = this.#sent > this.#applied && ring.first > this.#applied + 1;
    const operations = ring.operationsAfter(this.#applied) - ring.operationsAfter(this.#sent);
    const bytes = ring.bytesAfter(this.#applied) - ring.bytesAfter(this.#sent);
    return isUncounted || operations >= pushAheadOperations.value || bytes >= pushAheadBytes.value;
  }

  #push(nowMs: number): PushAction {
    const slice = this.#deps.ring.read(this.#sent + 1);
    assert(slice.last > this.#sent, 'M11: a push makes progress');
    const isFirst = this.#sent === this.#received;
    this.#sent = slice.last;
    if (isFirst) this.#planRetry(nowMs);
    return { kind: 'operations', slice, isRetry: false };
  }

  /** The peer answered: continue after what it has, if the ring still holds that. */
  #resumeAfter(counter: number, nowMs: number): void {
    this.#sent = counter;
    if (counter >= this.#deps.ring.last || this.#deps.ring.has(counter + 1)) {
      this.#mode = 'live';
      this.#isPullWanted = false;
    } else if (this.#mode !== 'behind') {
      this.#fallBehind(nowMs);
    } else {
      // It has pulled, and more was written in the meantime.
      this.#dueMs = Math.min(this.#dueMs, nowMs + this.#options.ackTimeoutMs);
    }
  }

  #fallBehind(nowMs: number): void {
    this.#mode = 'behind';
    this.#behindSinceMs = nowMs;
    this.#isPullWanted = true;
    this.#dueMs = nowMs + meshLimits.pullRequestMs.value;
  }

  #planRetry(nowMs: number): void {
    if (this.#mode === 'behind') return;
    const isWaiting =
      this.#received < this.#sent ||
      (this.#mode === 'overflowed' && this.#received < this.#deps.ring.last);
    if (!isWaiting) {
      this.#dueMs = Number.POSITIVE_INFINITY;
      return;
    }
    const { ackTimeoutMs, retryBackoffMs } = this.#options;
    const backoff = {
      initialMs: retryBackoffMs,
      maxMs: retryBackoffMsMax,
      jitter: 'half',
    } as const;
    const waitMs = backoffMs(this.#attempt, backoff, this.#deps.random);
    this.#dueMs = nowMs + ackTimeoutMs + waitMs;
  }
}
