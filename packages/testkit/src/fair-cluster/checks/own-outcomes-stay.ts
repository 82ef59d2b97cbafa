// F6  A view never lacks an outcome of its own instance. Where nobody reports successes, nothing but decay
// lowers a cell; so a view is at least what the service ever said of the cell, with what was reported since
// on top, less decay. A value that comes while outcomes are in flight must not hide them.
//
// An instance that gave outcomes up, was asked for its view or meets another epoch starts over: then it
// takes what the service says. Three kinds of instances are not held to it: of those that raise their
// outcomes while they are alone a guess is taken back; in the plain contract nobody can tell whether a value
// contains what is in flight; and a wall clock that was set may leave a structure behind (wall-steps.ts).
import type { ChangeRule, SyncResponse } from '@syncline/fair';
import { assert } from '@syncline/kernel';
import { fade, listCells } from '../cell-model.js';

interface LeastCell {
  readonly probability: number;
  readonly atMs: number;
  /** The longest that a value of the cell was in flight: by so much less it had decayed. */
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

  /** What was given up so far: if that grows, all may fall. */
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

  told({ seed, cells, welcome }: SyncResponse, nowMs: number, toldDelayMs: number): void {
    if (welcome !== undefined) {
      if (welcome.wantView || welcome.epoch !== this.#epoch) this.#least.clear();
      this.#epoch = welcome.epoch;
    }
    for (const { row, column, probability: told } of listCells(cells)) {
      const id = `${seed}/${row}:${column}`;
      const { probability, delayMs } = this.#at(id, nowMs);
      this.#least.set(id, {
        probability: Math.max(told, probability),
        atMs: nowMs,
        delayMs: Math.max(delayMs, toldDelayMs),
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
