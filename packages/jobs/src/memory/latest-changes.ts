// The latest change of each key, task lease and of the metadata, in order of revisions, at any moment since a
// view was taken.
//
// Changes are appended; one that a later one replaces is marked with its revision, and swept out once such are
// the majority. A sweep makes a new list and leaves the old one to the views that read it. So a put costs next
// to nothing, a view costs nothing at all, and a read from some revision on begins with a binary search.
import { assert } from '@syncline/kernel';
import type { JobChange } from '../core/rows.js';

interface Entry {
  readonly change: JobChange;
  /** The revision that replaced it. */
  replacedAt: number;
}

/** One moment. It never changes again. */
export interface LatestView {
  /** Those above a revision, ascending. */
  above(revision: number): Generator<JobChange>;
}

/** Fewer are not worth a sweep. */
const SWEEP_MIN = 64;

export class LatestChanges {
  readonly #latest = new Map<string, Entry>();
  #entries: Entry[] = [];
  #revision = 0;

  put(change: JobChange): void {
    assert(change.revision > this.#revision, 'J1: revisions rise');
    this.#revision = change.revision;
    const key = keyOf(change);
    const before = this.#latest.get(key);
    if (before) before.replacedAt = change.revision;
    const entry = { change, replacedAt: Number.POSITIVE_INFINITY };
    this.#latest.set(key, entry);
    this.#entries.push(entry);
    if (this.#entries.length > Math.max(SWEEP_MIN, 2 * this.#latest.size)) {
      this.#entries = this.#entries.filter(({ replacedAt }) => replacedAt > this.#revision);
    }
  }

  /** What is there now. */
  view(): LatestView {
    const entries = this.#entries;
    const revision = this.#revision;
    return { above: (after) => entriesAbove(entries, after, revision) };
  }
}

function* entriesAbove(
  entries: readonly Entry[],
  after: number,
  revision: number,
): Generator<JobChange> {
  for (let at = firstAbove(entries, after); at < entries.length; at += 1) {
    const entry = entries[at];
    if (!entry || entry.change.revision > revision) return;
    if (entry.replacedAt > revision) yield entry.change;
  }
}

function firstAbove(entries: readonly Entry[], revision: number): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries[middle]?.change.revision ?? 0) > revision) high = middle;
    else low = middle + 1;
  }
  return low;
}

function keyOf(change: JobChange): string {
  switch (change.kind) {
    case 'state':
      return `${change.state.taskId} ${change.state.tag}`;
    case 'lease':
      return `${change.lease.taskId}`;
    case 'job':
      return '';
  }
}
