// Bringing the elements of a set into memory, and letting them go, while others go on changing it.
//
// A set is loaded from a snapshot that is a little old. What was touched since is in the table and stays
// there, absent members too, so an element of the snapshot counts only if the table does not know it.
import { assert, type StorageEntry } from '@syncline/kernel';
import type { ElementHeap } from '../memory/element-heap.js';
import { ROW_ACTOR, ROW_HEAD, readWord } from '../memory/row-layout.js';
import type { ElementRows } from './element-rows.js';
import type { MemorySet } from './memory-set.js';
import { NO_DOT } from './row-dots.js';
import type { SetRegistry } from './set-registry.js';

export interface LoadingDeps {
  readonly heap: ElementHeap;
  readonly rows: ElementRows;
  readonly registry: SetRegistry;
}

export class Loading {
  readonly #deps: LoadingDeps;

  constructor(deps: LoadingDeps) {
    this.#deps = deps;
  }

  start(set: MemorySet): void {
    assert(!set.isWhole && !set.isLoading, 'a set is loaded once, and only when it is not whole');
    set.isLoading = true;
    set.unloadPosition = 0;
  }

  load(set: MemorySet, entry: StorageEntry): void {
    assert(set.isLoading, 'a set that takes elements is being loaded');
    this.#deps.rows.load(set, entry);
  }

  finish(set: MemorySet): void {
    this.#stop(set);
    set.isWhole = true;
    assert(
      set.table.size >= set.cardinality,
      'a whole table has a row for each member that the set counts',
    );
  }

  abandon(set: MemorySet, rowsMax: number): boolean {
    if (set.isLoading) this.#stop(set);
    return this.unload(set, rowsMax);
  }

  unload(set: MemorySet, rowsMax: number): boolean {
    const { heap, rows, registry } = this.#deps;
    if (!registry.holds(set)) return true; // between two steps others may have let go of the rest
    assert(!set.isLoading, 'a set that is being loaded is not let go');
    set.isWhole = false;
    const clean: number[] = [];
    set.unloadPosition = set.table.scan(set.unloadPosition, rowsMax, (row) => {
      if (readWord(heap, row, ROW_HEAD) === 0) clean.push(row);
    });
    for (const row of clean) rows.drop(set, row);
    if (set.unloadPosition !== 0) return false;
    if (set.isClean && set.table.size === 0) registry.forget(set);
    return true;
  }

  #stop(set: MemorySet): void {
    const { heap, rows } = this.#deps;
    set.isLoading = false;
    for (const row of set.absentRows ?? []) {
      const isAbsent = readWord(heap, row, ROW_ACTOR) === NO_DOT;
      if (isAbsent && readWord(heap, row, ROW_HEAD) === 0) rows.drop(set, row);
    }
    set.absentRows = undefined;
  }
}
