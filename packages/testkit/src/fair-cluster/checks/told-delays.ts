// How long the last value of each cell was in flight. A client cannot know, so it takes the value for one of
// the moment it came; by so much time it has decayed too little, and so much a check must allow.
import type { SyncResponse } from '@syncline/fair';
import { listCells } from '../cell-model.js';

export class ToldDelays {
  readonly #delaysMs = new Map<string, number>();

  told({ seed, cells }: SyncResponse, delayMs: number): void {
    for (const { row, column } of listCells(cells))
      this.#delaysMs.set(`${seed}/${row}:${column}`, delayMs);
  }

  /** 0 for a cell that was never told of. */
  ofCell(seed: number, row: number, column: number): number {
    return this.#delaysMs.get(`${seed}/${row}:${column}`) ?? 0;
  }
}
