// F6, F14  Where nobody reports successes, nothing but decay lowers a view: not a value of the service that
// lacks what is in flight, and not a service that has lost its state.
//
// Only a client that gave something up may fall back to what the service holds.
import type { ChangeRule } from '@syncline/fair';
import { assert } from '@syncline/kernel';
import { fade } from '../cell-model.js';

interface SeenCell {
  readonly probability: number;
  readonly atMs: number;
}

/** Clocks of trackers count whole ms. */
const ROUNDING_MS = 2;

export class OwnOutcomesStay {
  readonly #rule: ChangeRule;
  readonly #seen = new Map<string, SeenCell>();
  #droppedCount = 0;

  constructor(rule: ChangeRule) {
    this.#rule = rule;
  }

  /** What was given up so far: if that grows, all may fall. */
  dropped(count: number): void {
    if (count !== this.#droppedCount) this.#seen.clear();
    this.#droppedCount = count;
  }

  see(cell: string, probability: number, atMs: number): void {
    const seen = this.#seen.get(cell);
    this.#seen.set(cell, { probability, atMs });
    if (seen === undefined) return;
    const least = fade(this.#rule, seen.probability, atMs - seen.atMs + ROUNDING_MS);
    assert(
      probability >= least - 1e-6,
      `F6: cell ${cell} of a view fell from ${seen.probability} to ${probability} in ${atMs - seen.atMs} ms`,
    );
  }
}
