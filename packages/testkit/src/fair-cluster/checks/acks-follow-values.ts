// F6  An acknowledgement never comes before the values that include its change: for each change of a stream,
// every cell that it left above 0 was told on this stream since. A seed that has grown too old is told of no
// more; with a service whose wall clock was set that may end again, so from then on nothing is checked.
import type { Applied, SyncResponse } from '@syncline/fair';
import { assert } from '@syncline/kernel';
import { listCells } from '../cell-model.js';

interface OwedCells {
  readonly seed: bigint;
  readonly seq: number;
  readonly cells: Set<string>;
}

export class AcksFollowValues {
  #owed: OwedCells[] = [];

  applied(seq: number, { seed, cells }: Applied): void {
    const touched = listCells(cells).filter(({ probability }) => probability > 0);
    const ids = new Set(touched.map(({ row, column }) => `${row}:${column}`));
    this.#owed.push({ seed, seq, cells: ids });
  }

  /** `isLive`: a seed that grew too old meanwhile is not told of, and its changes are acknowledged alone. */
  told(response: SyncResponse, isLive: (seed: bigint) => boolean): void {
    const { seed, cells, ackedSeq, snapshotEnd } = response;
    for (const owed of this.#owed) {
      if (owed.seed !== seed) continue;
      for (const { row, column } of listCells(cells)) owed.cells.delete(`${row}:${column}`);
      if (snapshotEnd) owed.cells.clear(); // what it does not list is 0
    }
    for (const owed of this.#owed) {
      if (owed.seq > ackedSeq || !isLive(owed.seed)) continue;
      assert(
        owed.cells.size === 0,
        `F6: seq ${owed.seq} was acknowledged before cell ${[...owed.cells].join()} was told`,
      );
    }
    this.#owed = this.#owed.filter((owed) => owed.seq > ackedSeq);
  }
}
