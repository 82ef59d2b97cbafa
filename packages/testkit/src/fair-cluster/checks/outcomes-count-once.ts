// F5  The sum of all failures that anybody reported of a cell, in the world's own memory: what no cell of the
// service may ever pass, whatever was sent again, uploaded or restored.
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
   * A view may contain outcomes twice that were in flight when they were given up, or when the service was
   * lost: what it had said of the cell may have included them or not. Nothing is known of the cell then.
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
