// F6  A view never lacks an outcome of its own instance. Without reported successes only decay lowers a cell; so a
//     view is at least any earlier value from the service plus what was reported since, minus decay. A value that
//     arrives while outcomes are in flight must not hide them.
//
// An instance that dropped outcomes, was asked for its view, or sees a new epoch starts over from the values of the
// service. Three kinds of instances are exempt: those that raise their outcomes while disconnected, since that
// estimate is taken back later; those on the original contract, where it is unknown whether a value includes what is in
// flight; and those whose wall clock was set, which may leave a structure behind (wall-steps.ts).
import type { ChangeRule, SyncResponse } from '@syncline/fair';
import { assert } from '@syncline/kernel';
import { fade, listCells } from '../cell-model.js';

interface LeastCell {
  readonly probability: number;
  readonly atMs: number;
  /** The longest time that a value of the cell was in flight, during which it did not decay. */
  readonly delayMs: number;
}

/** Trackers count whole ms. */
const ROUNDING_MS = 2;

export class OwnOutcomesStay {
  readonly #rule: ChangeRule & { readonly ratePerSecond: number };
  readonly #least = new Map<string, LeastCell>();
  #droppedCount = 0;
  #epoch = 0;

  constructor(rule: ChangeRule & { readonly ratePerSecond: number }) {
    this.#rule = rule;
  }

  /** Outcomes dropped so far: if that grows, every cell may fall. */
  dropped(count: number): void {
    if (count !== this.#droppedCount) this.#least.clear();
    this.#droppedCount = count;
  }

  reported(seed: number, cells: readonly string[], amount: number, nowMs: number): void {
    for (const cell of cells) {
      const id = `${seed}/${cell}`;
      const { probability, delayMs } = this.#at(id, nowMs);
      this.#least.set(id, { probability: Math.min(1, probability + amount), atMs: nowMs, delayMs });
    }
  }

  received({ seed, cells, welcome }: SyncResponse, nowMs: number, receivedDelayMs: number): void {
    if (welcome !== undefined) {
      if (welcome.wantView || welcome.epoch !== this.#epoch) this.#least.clear();
      this.#epoch = welcome.epoch;
    }
    for (const { row, column, probability: received } of listCells(cells)) {
      const id = `${seed}/${row}:${column}`;
      const { probability, delayMs } = this.#at(id, nowMs);
      this.#least.set(id, {
        probability: Math.max(received, probability),
        atMs: nowMs,
        delayMs: Math.max(delayMs, receivedDelayMs),
      });
    }
  }

  check(id: string, probability: number, nowMs: number): void {
    const least = this.#at(id, nowMs);
    const toleranceMs = least.delayMs + ROUNDING_MS;
    assert(
      probability >= least.probability - 1e-6 - (this.#rule.ratePerSecond * toleranceMs) / 1000,
      `F6: cell ${id} of a view is ${probability}, with its own outcomes at least ${least.probability}`,
    );
  }

  #at(id: string, nowMs: number): LeastCell {
    const least = this.#least.get(id);
    if (least === undefined) return { probability: 0, atMs: nowMs, delayMs: 0 };
    return { ...least, probability: fade(this.#rule, least.probability, nowMs - least.atMs) };
  }
}
