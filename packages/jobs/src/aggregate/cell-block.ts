// The statuses of 256 neighbouring tasks for one tag, and which of them is the lowest and which the worst.
//
// A new status either takes a place or leaves it alone; only when the holder of a place gets better are the
// 256 looked through again. So a change costs next to nothing, and a question nothing at all.
import { severityOf } from '../status.js';

export const CELL_BLOCK_TASKS = 256;

/** What a block takes in memory, about. */
export const CELL_BLOCK_BYTES = 5 * CELL_BLOCK_TASKS + 200;

export class CellBlock {
  readonly #statuses = new Int32Array(CELL_BLOCK_TASKS);
  readonly #written = new Uint8Array(CELL_BLOCK_TASKS);
  /** Slots. −1 until something was written. */
  lowestSlot = -1;
  worstSlot = -1;

  isWritten(slot: number): boolean {
    return this.#written[slot] === 1;
  }

  /** Of a slot that was written. */
  statusAt(slot: number): number {
    return this.#statuses[slot] ?? 0;
  }

  set(slot: number, status: number): void {
    this.#statuses[slot] = status;
    this.#written[slot] = 1;
    this.lowestSlot = this.#placeAfter(this.lowestSlot, slot, asItIs);
    this.worstSlot = this.#placeAfter(this.worstSlot, slot, severityOf);
  }

  #placeAfter(holder: number, slot: number, rankOf: (status: number) => number): number {
    if (holder === -1) return slot;
    if (holder === slot) return this.#first(rankOf);
    const rank = rankOf(this.statusAt(slot));
    const holderRank = rankOf(this.statusAt(holder));
    const comesFirst = rank < holderRank || (rank === holderRank && slot < holder);
    return comesFirst ? slot : holder;
  }

  #first(rankOf: (status: number) => number): number {
    let first = -1;
    let firstRank = 0;
    for (let slot = 0; slot < CELL_BLOCK_TASKS; slot += 1) {
      if (this.#written[slot] === 0) continue;
      const rank = rankOf(this.#statuses[slot] ?? 0);
      if (first !== -1 && rank >= firstRank) continue;
      first = slot;
      firstRank = rank;
    }
    return first;
  }
}

function asItIs(status: number): number {
  return status;
}
