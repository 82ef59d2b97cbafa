// What is in flight on one direction of a connection: it arrives in order, and late.
//
// A closed link holds it back. When the link opens again it is resent after a while, or the
// connection turns out to be dead; if the link stays closed for too long the sender gives up.
import type { Timer } from '../../clock.js';
import type { EventOwner } from '../event-queue.js';
import type { Scheduler } from '../scheduler.js';
import type { Link } from './link.js';

export type Segment =
  | { readonly kind: 'data'; readonly bytes: Uint8Array }
  /** The sender has ended its direction cleanly. */
  | { readonly kind: 'end' }
  | { readonly kind: 'reset' };

export interface FlightDeps {
  readonly scheduler: Scheduler;
  readonly link: Link;
  /** For the trace. */
  readonly label: string;
  /** The process that handles arrivals. Undefined: only the receiving machine. */
  readonly receiver: () => EventOwner | undefined;
  readonly onArrival: (segment: Segment) => void;
  /** After a partition the peer no longer knows the connection. */
  readonly onFoundDead: () => void;
  /** No acknowledgement for a long time. */
  readonly onGiveUp: () => void;
}

interface FlyingSegment {
  segment: Segment;
  readonly sentMs: number;
  dueMs: number;
}

/** Fraction of the writes of one moment that arrive as one chunk. */
const MERGE_PROBABILITY = 0.7;
/** After a partition: until the next retransmission, and how often the connection is found dead. */
const RETRANSMIT_MS_MAX = 1000;
const FOUND_DEAD_PROBABILITY = 0.2;
/** How long the sender waits for an acknowledgement, at least and at most. */
const GIVE_UP_MS_MIN = 10_000;
const GIVE_UP_MS_MAX = 60_000;

export class Flight {
  readonly #deps: FlightDeps;
  readonly #segments: FlyingSegment[] = [];
  #lastDueMs = 0;
  #isStalled = false;
  #isGivingUp = false;
  #arrival: Timer | undefined;

  constructor(deps: FlightDeps) {
    this.#deps = deps;
  }

  get length(): number {
    return this.#segments.length;
  }

  /** The bytes that would arrive next. */
  get nextBytes(): Uint8Array {
    const next = this.#segments[0]?.segment;
    return next?.kind === 'data' ? next.bytes : new Uint8Array(0);
  }

  launch(segment: Segment): void {
    if (this.#isMerged(segment)) return;
    const { scheduler, link } = this.#deps;
    const bytes = segment.kind === 'data' ? segment.bytes.length : 0;
    const startMs = Math.max(this.#lastDueMs, scheduler.nowMs + link.delayMs());
    this.#lastDueMs = startMs + bytes / link.profile.bytesPerMs; // one after another
    this.#segments.push({ segment, sentMs: scheduler.nowMs, dueMs: this.#lastDueMs });
    this.#schedule();
  }

  /** Only the first `count` segments still arrive. */
  truncate(count: number): void {
    this.#segments.length = Math.min(count, this.#segments.length);
  }

  /** Changes the receiver of later arrivals, or delays them. */
  reschedule(): void {
    this.#arrival?.cancel();
    this.#arrival = undefined;
    this.#schedule();
  }

  /** The sender waits for what must arrive over `link`; if that stays closed, it gives up. */
  giveUpUnlessOpen(link: Link): void {
    if (this.#isGivingUp) return;
    this.#isGivingUp = true;
    const { scheduler, label, onGiveUp } = this.#deps;
    const delayMs = GIVE_UP_MS_MIN + (GIVE_UP_MS_MAX - GIVE_UP_MS_MIN) * link.random.float();
    const timer = scheduler.after(delayMs, { kind: 'give-up', subject: label, run: onGiveUp });
    link.whenOpen(() => {
      timer.cancel();
      this.#isGivingUp = false;
    });
  }

  #isMerged(segment: Segment): boolean {
    const last = this.#segments.at(-1);
    if (segment.kind !== 'data' || last?.segment.kind !== 'data') return false;
    const { scheduler, link } = this.#deps;
    if (last.sentMs !== scheduler.nowMs || !link.happens(MERGE_PROBABILITY)) return false;
    last.segment = { kind: 'data', bytes: Buffer.concat([last.segment.bytes, segment.bytes]) };
    this.#lastDueMs += segment.bytes.length / link.profile.bytesPerMs;
    last.dueMs = this.#lastDueMs;
    this.reschedule();
    return true;
  }

  #schedule(): void {
    const head = this.#segments[0];
    if (head === undefined || this.#arrival !== undefined || this.#isStalled) return;
    const { scheduler, label, receiver } = this.#deps;
    const owner = receiver();
    this.#arrival = scheduler.after(head.dueMs - scheduler.nowMs, {
      kind: 'arrive',
      subject: label,
      run: () => this.#arrive(),
      ...(owner === undefined ? {} : { owner }),
    });
  }

  #arrive(): void {
    this.#arrival = undefined;
    const { link, onArrival } = this.#deps;
    if (!link.isOpen) {
      this.#stall();
      return;
    }
    const head = this.#segments.shift();
    if (head !== undefined) onArrival(head.segment);
    this.#schedule();
  }

  #stall(): void {
    const { link } = this.#deps;
    this.#isStalled = true;
    this.giveUpUnlessOpen(link);
    link.whenOpen(() => this.#goOn());
  }

  #goOn(): void {
    const { scheduler, link, onFoundDead } = this.#deps;
    this.#isStalled = false;
    const head = this.#segments[0];
    if (head === undefined) return;
    if (link.happens(FOUND_DEAD_PROBABILITY)) {
      onFoundDead();
      return;
    }
    head.dueMs = scheduler.nowMs + RETRANSMIT_MS_MAX * link.random.float();
    this.#lastDueMs = Math.max(this.#lastDueMs, head.dueMs);
    this.#schedule();
  }
}
