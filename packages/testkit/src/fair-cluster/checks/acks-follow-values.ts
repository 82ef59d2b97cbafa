// F6  An acknowledgement never arrives before the values that include its change: for each change of a stream,
// every cell that it left above 0 was sent on this stream since. A seed that is too old is no longer sent; if
// the wall clock of the service was set it may become current again, so from then on nothing is checked.
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

  /** `isLive`: a seed that has become too old is not sent any more, and its changes are acknowledged without values. */
  sent(response: SyncResponse, isLive: (seed: bigint) => boolean): void {
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
        `F6: seq ${owed.seq} was acknowledged before cell ${[...owed.cells].join()} was sent`,
      );
    }
    this.#owed = this.#owed.filter((owed) => owed.seq > ackedSeq);
  }
}
