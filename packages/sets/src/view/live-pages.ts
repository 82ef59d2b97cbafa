// Pages of scans, as the sets are at the moment of each page: nobody waits for a fold, however much is written.
//
// What is not folded is in memory, and what is not in memory is folded. So memory is laid over a snapshot of
// the storage. Both are taken within one turn: a row that is folded and forgotten later is in no older
// snapshot. That is why a page ends where the piece of memory ends that one turn has copied.
import type { KeyspacePage, ScanPage } from '../keyspace.js';
import type { MemorySet } from '../state/memory-set.js';
import type { SetRegistry } from '../state/set-registry.js';
import { type KnownPiece, knownMembers, knownNames } from './known-entries.js';
import { type Batches, laidOver } from './laid-over.js';
import { SnapshotView, type SnapshotViewDeps } from './snapshot-view.js';
import { POSITIONS_END } from './stored-ranges.js';

export interface LivePagesDeps extends SnapshotViewDeps {
  readonly registry: SetRegistry;
}

export class LivePages {
  readonly #deps: LivePagesDeps;

  constructor(deps: LivePagesDeps) {
    this.#deps = deps;
  }

  names({ position, count }: ScanPage): KeyspacePage {
    const known = knownNames(this.#deps.registry, position, count);
    return this.#page(known, (view) => view.sets(position, known.end));
  }

  members({ name, table }: MemorySet, { position, count }: ScanPage): KeyspacePage {
    const known = knownMembers(table, position, count);
    return this.#page(known, (view) => view.members(name, position, known.end));
  }

  #page({ entries, end }: KnownPiece, storedOf: (view: SnapshotView) => Batches): KeyspacePage {
    const view = new SnapshotView(this.#deps);
    const positionOf = (bytes: Uint8Array) => view.positionOf(bytes);
    return {
      batches: laidOver(storedOf(view), entries, positionOf),
      next: end === POSITIONS_END ? 0 : end,
      positionOf,
      close: () => view.close(),
      [Symbol.dispose]: () => view.close(),
    };
  }
}
