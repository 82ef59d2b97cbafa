// The newest changes in memory, so that readers that are behind need no view of the store.
//
// A reader passes the revision that it has and gets the changes above it, a page at a time, without holding anything
// in between. It reads changes that have left the ring in the meantime from the store.
//
//   ── older: the latest of each key ──┬── newest: every change ──▶ push
//   coalescedTo                        compactedTo
//
// A reader that only wants the latest change of each key is served further back: with many writes to few keys it
// never reads the store, however far behind it is. Such load is when a server has the least time to spare.
//
// K24  It holds at most `changesMax` newest and as many older changes, `bytesMax` bytes of both, every change above
//      `compactedTo`, and the latest of each key above `coalescedTo`.
import type { FeedChange } from './feed-event.js';
import { RingEntries, type RingEntry } from './ring-entries.js';

export interface ChangeRingOptions<C> {
  readonly changesMax: number;
  readonly bytesMax: number;
  readonly bytesOf: (change: C) => number;
}

export interface RingPage<C> {
  readonly changes: readonly C[];
  /** Everything wanted up to this revision is in the page. */
  readonly through: number;
}

interface WantedPage<C> {
  readonly countMax: number;
  readonly bytesMax: number;
  readonly coalesceTo: number;
  readonly isInScope: (change: C) => boolean;
}

export class ChangeRing<C extends FeedChange> {
  readonly #options: ChangeRingOptions<C>;
  readonly #newest = new RingEntries<C>();
  readonly #older = new RingEntries<C>();
  readonly #latest = new Map<string, RingEntry<C>>();
  /** Older changes that were replaced since, and not yet swept out. */
  #deadCount = 0;
  #bytes = 0;
  #compactedTo: number;
  #coalescedTo: number;

  /** Empty: it holds nothing up to `revision`. */
  constructor(options: ChangeRingOptions<C>, revision: number) {
    this.#options = options;
    this.#compactedTo = revision;
    this.#coalescedTo = revision;
  }

  /** At or below this revision, at most the latest change of each key is held. */
  get compactedTo(): number {
    return this.#compactedTo;
  }

  /** Changes at or below this revision have left. */
  get coalescedTo(): number {
    return this.#coalescedTo;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(change: C): void {
    const { changesMax, bytesMax, bytesOf } = this.#options;
    const { key, revision } = change;
    const before = this.#latest.get(key);
    if (before) this.#replace(before);
    const entry = { revision, change, isReplaced: false };
    this.#latest.set(key, entry);
    this.#newest.push(entry);
    this.#bytes += bytesOf(change);
    while (this.#newest.length > changesMax) this.#ageOldest();
    while (this.#older.length > changesMax) this.#makeRoom();
    while (this.#bytes > bytesMax) {
      if (this.#older.length === 0) this.#ageOldest();
      else this.#dropOldest();
    }
  }

  /** Forgets everything: readers that are behind read the store. */
  clear(): void {
    while (this.#newest.length > 0) this.#ageOldest();
    while (this.#older.length > 0) this.#dropOldest();
    this.#coalescedTo = this.#compactedTo;
  }

  /** Whether `page` can serve the changes above `after`, if those up to `coalesceTo` are coalesced. */
  has(after: number, coalesceTo: number): boolean {
    if (after >= this.#compactedTo) return true;
    return after >= this.#coalescedTo && coalesceTo >= this.#compactedTo;
  }

  /**
   * Up to `countMax` wanted changes above `after`, and one at least, but not more than `bytesMax`. Of those up
   * to `coalesceTo`, only the latest of each key.
   */
  page(after: number, wanted: WantedPage<C>): RingPage<C> {
    const { countMax, bytesMax, coalesceTo, isInScope } = wanted;
    const changes: C[] = [];
    let [through, bytes, isFull] = [after, 0, false];
    const take = ({ revision, change, isReplaced }: RingEntry<C>): boolean => {
      isFull = changes.length === countMax;
      if (isFull) return true;
      const isLeftOut = change === undefined || (isReplaced && revision <= coalesceTo);
      if (!isLeftOut && isInScope(change)) {
        bytes += this.#options.bytesOf(change);
        isFull = bytes > bytesMax && changes.length > 0;
        if (isFull) return true;
        changes.push(change);
      }
      through = revision;
      return false;
    };
    if (after < this.#compactedTo) this.#older.walk(after, take);
    if (!isFull) this.#newest.walk(after, take);
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
    let [eventsCount, bytes, isBeyond] = [0, 0, false];
    this.#newest.walk(after, ({ change }) => {
      if (change === undefined || !bounds.isInScope(change)) return false;
      eventsCount += 1;
      bytes += this.#options.bytesOf(change);
      isBeyond = eventsCount > bounds.eventsMax || bytes > bounds.bytesMax;
      return isBeyond;
    });
    return isBeyond;
  }

  #replace(entry: RingEntry<C>): void {
    entry.isReplaced = true;
    if (entry.revision > this.#compactedTo) return; // a reader of every change still wants it
    this.#forget(entry);
    this.#deadCount += 1;
  }

  /** The oldest of the newest changes is kept only if it is the latest of its key. */
  #ageOldest(): void {
    const oldest = this.#newest.shift();
    if (oldest === undefined) return;
    this.#compactedTo = oldest.revision;
    if (oldest.isReplaced) this.#forget(oldest);
    else this.#older.push(oldest);
  }

  /** Among the older ones. */
  #makeRoom(): void {
    if (2 * this.#deadCount < this.#older.length) {
      this.#dropOldest();
      return;
    }
    this.#older.sweep();
    this.#deadCount = 0;
  }

  #dropOldest(): void {
    const oldest = this.#older.shift();
    if (oldest?.change === undefined) {
      this.#deadCount -= 1;
      return;
    }
    this.#coalescedTo = oldest.revision;
    this.#latest.delete(oldest.change.key);
    this.#forget(oldest);
  }

  #forget(entry: RingEntry<C>): void {
    if (entry.change !== undefined) this.#bytes -= this.#options.bytesOf(entry.change);
    entry.change = undefined;
  }
}
