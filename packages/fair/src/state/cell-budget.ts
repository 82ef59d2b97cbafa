// How many cells all named trackers of a service may have memory for. A shape costs nothing until its cells
// are touched, and then a chunk at a time; but anyone may send a hello under a new name, so the sum has a
// limit, too. It is compared only when a message would open a chunk: a few hundred times in a seed's life.
//
// F10  A message for which there is no room is refused before any of it is applied.
import { SynclineError } from '@syncline/kernel';
import type { Cells } from '../cells.js';
import { fairLimits } from '../limits.js';
import { type GridShape, slotIn } from './cell-grid.js';
import { CHUNK_LENGTH, chunkOf } from './chunked-numbers.js';
import type { SeedMirror } from './seed-mirror.js';

export type CellPlaces = Pick<Cells, 'count' | 'rows' | 'columns'>;

export interface CellBudget {
  /** Throws `limit-exceeded`. Without a mirror the seed is a new one. */
  check(shape: GridShape, mirror: SeedMirror | undefined, places: CellPlaces): void;
}

/** `heldCount`: cells that all trackers have memory for now. */
export function createCellBudget(heldCount: () => number): CellBudget {
  const { value: cellsMax } = fairLimits.namedCellsMax;
  return {
    check(shape, mirror, places) {
      const growth = growthOf(shape, mirror, places);
      if (growth === 0 || heldCount() + growth <= cellsMax) return;
      throw new SynclineError(
        'limit-exceeded',
        `the named trackers of this service would take memory for more than ${cellsMax} cells. Use fewer trackers, or fewer levels and columns; cells are dropped 3 windows after their seed.`,
        { details: { limit: 'namedCellsMax', limitValue: cellsMax } },
      );
    },
  };
}

function growthOf(shape: GridShape, mirror: SeedMirror | undefined, places: CellPlaces): number {
  const { count, rows, columns } = places;
  let opened: Set<number> | undefined;
  for (let index = 0; index < count; index += 1) {
    const slot = slotIn(shape, rows[index] ?? 0, columns[index] ?? 0);
    if (mirror?.isHeld(slot)) continue;
    opened ??= new Set();
    opened.add(chunkOf(slot));
  }
  return (opened?.size ?? 0) * CHUNK_LENGTH;
}
