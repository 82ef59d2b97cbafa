// How long the last value of each cell was in flight. A client cannot know, so it treats the value as current;
// it has decayed too little by that time, which a check must allow for.
import type { SyncResponse } from '@syncline/fair';
import { listCells } from '../cell-model.js';

export class ValueDelays {
  readonly #delaysMs = new Map<string, number>();

  received({ seed, cells }: SyncResponse, delayMs: number): void {
    for (const { row, column } of listCells(cells))
      this.#delaysMs.set(`${seed}/${row}:${column}`, delayMs);
  }

  /** 0 for a cell that was never sent. */
  ofCell(seed: number, row: number, column: number): number {
    return this.#delaysMs.get(`${seed}/${row}:${column}`) ?? 0;
  }
}
