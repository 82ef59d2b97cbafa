// The newest changes in memory, for readers who are a little behind: they need no view of the store.
//
// A reader names the revision that it has and gets what is above it, a page at a time, without holding
// anything in between; what has left the ring meanwhile it reads from the store.
//
// K24  It holds at most `changesMax` changes and `bytesMax` bytes, and every change above `compactedTo`.
import type { FeedChange } from './feed-event.js';

export interface ChangeRingOptions<C> {
  readonly changesMax: number;
  readonly bytesMax: number;
  readonly bytesOf: (change: C) => number;
}

export interface RingPage<C> {
  readonly changes: readonly C[];
  /** All that is wanted up to here is in the page. */
  readonly through: number;
}

export class ChangeRing<C extends FeedChange> {
  readonly #options: ChangeRingOptions<C>;
  // What lies before #head has left. It is cut off in bulk, since shifting each would cost its length.
  #held: C[] = [];
  #head = 0;
  #bytes = 0;
  #compactedTo: number;
  readonly #latest = new Map<string, number>();

  /** Empty: it knows nothing up to `revision`. */
  constructor(options: ChangeRingOptions<C>, revision: number) {
    this.#options = options;
    this.#compactedTo = revision;
  }

  /** What was at or below has left. */
  get compactedTo(): number {
    return this.#compactedTo;
  }

  get length(): number {
    return this.#held.length - this.#head;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(change: C): void {
    this.#held.push(change);
    this.#latest.set(change.key, change.revision);
    this.#bytes += this.#options.bytesOf(change);
    while (this.length > this.#options.changesMax || this.#bytes > this.#options.bytesMax) {
      this.#dropOldest();
    }
  }

  /**
   * Up to `countMax` wanted changes above `after`, which is at least `compactedTo`, and one at least, but not
   * more than `bytesMax`. Of those up to `coalesceTo` only what is the latest of its key.
   */
  page(
    after: number,
    wanted: {
      readonly countMax: number;
      readonly bytesMax: number;
      readonly coalesceTo: number;
      readonly isInScope: (change: C) => boolean;
    },
  ): RingPage<C> {
    const changes: C[] = [];
    let through = after;
    let bytes = 0;
    for (let at = this.#firstAbove(after); at < this.#held.length; at += 1) {
      const change = this.#held[at];
      if (change === undefined || changes.length === wanted.countMax) break;
      const { revision, key } = change;
      const isLeftOut = revision <= wanted.coalesceTo && this.#latest.get(key) !== revision;
      if (!isLeftOut && wanted.isInScope(change)) {
        bytes += this.#options.bytesOf(change);
        if (bytes > wanted.bytesMax && changes.length > 0) break;
        changes.push(change);
      }
      through = revision;
    }
    return { changes, through };
  }

  /** Whether more than this is wanted above `after`, which is at least `compactedTo`. */
  exceeds(
    after: number,
    bounds: {
      readonly eventsMax: number;
      readonly bytesMax: number;
      readonly isInScope: (change: C) => boolean;
    },
  ): boolean {
    let [eventsCount, bytes] = [0, 0];
    for (let at = this.#firstAbove(after); at < this.#held.length; at += 1) {
      const change = this.#held[at];
      if (change === undefined || !bounds.isInScope(change)) continue;
      eventsCount += 1;
      bytes += this.#options.bytesOf(change);
      if (eventsCount > bounds.eventsMax || bytes > bounds.bytesMax) return true;
    }
    return false;
  }

  #dropOldest(): void {
    const oldest = this.#held[this.#head];
    if (oldest === undefined) return;
    this.#head += 1;
    this.#bytes -= this.#options.bytesOf(oldest);
    this.#compactedTo = oldest.revision;
    if (this.#latest.get(oldest.key) === oldest.revision) this.#latest.delete(oldest.key);
    if (this.#head < 1024 && this.length > 0) return;
    this.#held = this.#held.slice(this.#head);
    this.#head = 0;
  }

  #firstAbove(revision: number): number {
    let low = this.#head;
    let high = this.#held.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#held[middle]?.revision ?? 0) > revision) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
