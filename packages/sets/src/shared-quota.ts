// A bound that all connections share. What one takes the others cannot have until it is given back.
import { assert } from '@syncline/kernel';

export class SharedQuota {
  readonly #max: number;
  #used = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get used(): number {
    return this.#used;
  }

  /** False, with nothing taken, when too little is left. */
  tryTake(amount: number): boolean {
    if (this.#used + amount > this.#max) return false;
    this.#used += amount;
    return true;
  }

  giveBack(amount: number): void {
    assert(amount <= this.#used, 'S10: only what was taken is given back');
    this.#used -= amount;
  }
}
