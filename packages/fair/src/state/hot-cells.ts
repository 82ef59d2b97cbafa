// Which cells a round sends when more changed than its budget allows: the power of two choices. Two dirty
// cells are drawn, and the one with the larger unsent change goes. That favors large changes without sorting
// everything, and without the same cells winning every time; a cell that was skipped four times goes first, so
// none starves.
import { type Random, randomBelow } from '@syncline/kernel';
import { ChunkedNumbers } from './cell-grid.js';
import { CellMarks } from './cell-marks.js';

const PASSED_OVER_MAX = 4;

/** What is needed of the dirty cells of one seed to choose among them. */
export class HotCells {
  readonly #unsent = new ChunkedNumbers();
  readonly #passedOver = new ChunkedNumbers();
  /** The number of the change that made the cell dirty. */
  readonly #dirtySince = new ChunkedNumbers();

  note(slot: number, difference: number, dirtySince: number | undefined): void {
    this.#unsent.set(slot, this.#unsent.at(slot) + difference);
    if (dirtySince !== undefined) this.#dirtySince.set(slot, dirtySince);
  }

  unsentAt(slot: number): number {
    return Math.abs(this.#unsent.at(slot));
  }

  isDue(slot: number): boolean {
    return this.#passedOver.at(slot) >= PASSED_OVER_MAX;
  }

  sent(slot: number): void {
    this.#unsent.set(slot, 0);
    this.#passedOver.set(slot, 0);
  }

  sentAll(marks: CellMarks): void {
    for (let slot = marks.next(0); slot !== -1; slot = marks.next(slot + 1)) this.sent(slot);
  }

  /** A round skips these. Returns the oldest change that is not sent. */
  passOver(left: CellMarks): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (let slot = left.next(0); slot !== -1; slot = left.next(slot + 1)) {
      this.#passedOver.set(slot, Math.min(PASSED_OVER_MAX, this.#passedOver.at(slot) + 1));
      oldest = Math.min(oldest, this.#dirtySince.at(slot));
    }
    return oldest;
  }
}

export interface Choice {
  readonly dirty: CellMarks;
  readonly hot: HotCells;
}

/** The marks to send, by entry; they are removed from `dirty`. At most `budget` in total. */
export function chooseHot(
  choices: readonly Choice[],
  budget: number,
  random: Random,
): readonly CellMarks[] {
  const chosen = choices.map(() => new CellMarks());
  const candidates: { readonly entry: number; readonly slot: number }[] = [];
  let left = budget;
  const take = (entry: number, slot: number) => {
    chosen[entry]?.add(slot);
    choices[entry]?.dirty.delete(slot);
    choices[entry]?.hot.sent(slot);
    left -= 1;
  };
  for (const [entry, { dirty, hot }] of choices.entries()) {
    for (let slot = dirty.next(0); slot !== -1; slot = dirty.next(slot + 1)) {
      if (left > 0 && hot.isDue(slot)) take(entry, slot);
      else candidates.push({ entry, slot });
    }
  }
  const unsentOf = (index: number) => {
    const candidate = candidates[index];
    return candidate && (choices[candidate.entry]?.hot.unsentAt(candidate.slot) ?? 0);
  };
  while (left > 0 && candidates.length > 0) {
    const one = randomBelow(random, candidates.length);
    const other = randomBelow(random, candidates.length);
    const larger = (unsentOf(one) ?? 0) >= (unsentOf(other) ?? 0) ? one : other;
    const winner = candidates[larger];
    const last = candidates.pop();
    if (last !== undefined && larger < candidates.length) candidates[larger] = last;
    if (winner !== undefined) take(winner.entry, winner.slot);
  }
  return chosen;
}
