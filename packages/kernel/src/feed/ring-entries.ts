// Changes in order of revisions, as a ring holds them: added at the end, taken from the front, found by revision.

export interface RingEntry<C> {
  readonly revision: number;
  /** Undefined: no reader needs it any more, and it is skipped. */
  change: C | undefined;
  /** Replaced by a later change of its key. */
  isReplaced: boolean;
}

/** Fewer entries are not worth removing. */
const CUT_MIN = 1024;

export class RingEntries<C> {
  // Entries before #head were taken. They are removed in bulk, since each shift would move the whole array.
  #held: RingEntry<C>[] = [];
  #head = 0;

  get length(): number {
    return this.#held.length - this.#head;
  }

  push(entry: RingEntry<C>): void {
    this.#held.push(entry);
  }

  shift(): RingEntry<C> | undefined {
    const oldest = this.#held[this.#head];
    if (oldest === undefined) return undefined;
    this.#head += 1;
    if (this.#head >= CUT_MIN || this.length === 0) {
      this.#held = this.#held.slice(this.#head);
      this.#head = 0;
    }
    return oldest;
  }

  /** Removes the entries that no reader needs. */
  sweep(): void {
    this.#held = this.#held.slice(this.#head).filter(({ change }) => change !== undefined);
    this.#head = 0;
  }

  /** Entries above a revision, until `isEnough` returns true. */
  walk(after: number, isEnough: (entry: RingEntry<C>) => boolean): void {
    for (let at = this.#firstAbove(after); at < this.#held.length; at += 1) {
      const entry = this.#held[at];
      if (entry === undefined || isEnough(entry)) return;
    }
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
