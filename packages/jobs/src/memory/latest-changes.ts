// The latest change of each key, task lease and of the metadata, in order of revisions.
//
// Changes are appended; one that a later one replaces is marked, and swept out once such are the majority. So
// a put costs next to nothing, and a read from some revision on begins with a binary search.
import { assert } from '@syncline/kernel';
import type { JobChange } from '../core/rows.js';

interface Entry {
  readonly change: JobChange;
  isReplaced: boolean;
}

/** Fewer are not worth a sweep. */
const SWEEP_MIN = 64;

export class LatestChanges {
  readonly #latest = new Map<string, Entry>();
  #entries: Entry[] = [];

  put(change: JobChange): void {
    const last = this.#entries.at(-1)?.change.revision ?? 0;
    assert(change.revision > last, 'J1: revisions rise');
    const key = keyOf(change);
    const before = this.#latest.get(key);
    if (before) before.isReplaced = true;
    const entry = { change, isReplaced: false };
    this.#latest.set(key, entry);
    this.#entries.push(entry);
    if (this.#entries.length > Math.max(SWEEP_MIN, 2 * this.#latest.size)) {
      this.#entries = this.#entries.filter(({ isReplaced }) => !isReplaced);
    }
  }

  /** Those above a revision, ascending. To be used before the next `put`. */
  *above(revision: number): Generator<JobChange> {
    for (let at = this.#firstAbove(revision); at < this.#entries.length; at += 1) {
      const entry = this.#entries[at];
      if (entry && !entry.isReplaced) yield entry.change;
    }
  }

  #firstAbove(revision: number): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#entries[middle]?.change.revision ?? 0) > revision) high = middle;
      else low = middle + 1;
    }
    return low;
  }
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
