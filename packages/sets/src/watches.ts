// Who watches which sets: for WATCH. The state marks watchers when the visible members of a set change.
//
// A watched set stays in memory, so its list of watchers is never lost; the number of watched sets is
// bounded per connection.
import type { Watcher } from './keyspace.js';
import type { MemorySet } from './state/memory-set.js';

export class Watches {
  readonly #sets = new Map<Watcher, Set<MemorySet>>();

  add(watcher: Watcher, set: MemorySet): void {
    set.watchers ??= new Set();
    set.watchers.add(watcher);
    const sets = this.#sets.get(watcher) ?? new Set();
    this.#sets.set(watcher, sets.add(set));
  }

  remove(watcher: Watcher): void {
    for (const set of this.#sets.get(watcher) ?? []) {
      set.watchers?.delete(watcher);
      if (set.watchers?.size === 0) set.watchers = undefined;
    }
    this.#sets.delete(watcher);
  }
}
