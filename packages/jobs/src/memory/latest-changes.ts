// The latest change of each key, task lease and of the metadata, in order of revisions, at any moment since a view was
// taken.
//
// Changes are appended; one that a later one replaces is marked with its revision, and swept out once such are the
// majority. A sweep makes a new list and leaves the old one to the views that read it. So a put costs next to nothing,
// a view costs nothing at all, and a read from some revision on starts with a binary search.
import { assert } from '@syncline/kernel';

interface Entry<C> {
  readonly change: C;
  /** The revision that replaced it. */
  replacedAt: number;
}

/** One moment. It never changes again. */
export interface LatestView<C> {
  /** Those above a revision, ascending. */
  above(revision: number): Generator<C>;
}

/** Fewer are not worth a sweep. */
const SWEEP_MIN = 64;

export class LatestChanges<C extends { readonly revision: number }> {
  readonly #latest = new Map<string, Entry<C>>();
  #entries: Entry<C>[] = [];
  #revision = 0;

  put(key: string, change: C): void {
    assert(change.revision > this.#revision, 'J1: revisions rise');
    this.#revision = change.revision;
    const before = this.#latest.get(key);
    if (before) before.replacedAt = change.revision;
    const entry = { change, replacedAt: Number.POSITIVE_INFINITY };
    this.#latest.set(key, entry);
    this.#entries.push(entry);
    if (this.#entries.length > Math.max(SWEEP_MIN, 2 * this.#latest.size)) {
      this.#entries = this.#entries.filter(({ replacedAt }) => replacedAt > this.#revision);
    }
  }

  get(key: string): C | undefined {
    return this.#latest.get(key)?.change;
  }

  /** What is there now. */
  view(): LatestView<C> {
    const entries = this.#entries;
    const revision = this.#revision;
    return { above: (after) => entriesAbove(entries, after, revision) };
  }
}

function* entriesAbove<C extends { readonly revision: number }>(
  entries: readonly Entry<C>[],
  after: number,
  revision: number,
): Generator<C> {
  for (let at = firstAbove(entries, after); at < entries.length; at += 1) {
    const entry = entries[at];
    if (!entry || entry.change.revision > revision) return;
    if (entry.replacedAt > revision) yield entry.change;
  }
}

function firstAbove(
  entries: readonly Entry<{ readonly revision: number }>[],
  revision: number,
): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries[middle]?.change.revision ?? 0) > revision) high = middle;
    else low = middle + 1;
  }
  return low;
}
