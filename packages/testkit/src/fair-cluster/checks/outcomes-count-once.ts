// F5  The sum of all reported failures of a cell, recorded outside the processes: no cell of the service may
// ever exceed it, whatever was resent, uploaded or restored.
import { assert } from '@syncline/kernel';

export class OutcomesCountOnce {
  readonly #sums = new Map<string, number>();

  /** An outcome as its instance counted it. Successes only lower a cell, so they are left out. */
  add(tracker: string, seed: number, cells: readonly number[], amount: number): void {
    for (const cell of cells) {
      const id = `${tracker}/${seed}/${cell}`;
      this.#sums.set(id, (this.#sums.get(id) ?? 0) + amount);
    }
  }

  /**
   * A view may contain outcomes twice that were in flight when they were dropped, or when the service was lost:
   * the service's value may or may not have included them. Then nothing is known about the cell.
   */
  excuse(tracker: string, seed: bigint, cell: number): void {
    this.#sums.set(`${tracker}/${seed}/${cell}`, Number.POSITIVE_INFINITY);
  }

  /** No outcome counts twice. */
  check(tracker: string, seed: bigint, cell: number, probability: number): void {
    const sum = this.#sums.get(`${tracker}/${seed}/${cell}`) ?? 0;
    assert(
      probability <= sum + 1e-6,
      `F5: cell ${cell} of "${tracker}", seed ${seed}, is ${probability}, but all its outcomes add up to ${sum}`,
    );
  }
}
