// A bound that all connections share. What one takes the others cannot have, until it gives it back.
import { assert } from '@syncline/kernel';

export class CommonRoom {
  readonly #max: number;
  #used = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get used(): number {
    return this.#used;
  }

  /** False, and nothing is taken, when there is too little. */
  take(amount: number): boolean {
    if (this.#used + amount > this.#max) return false;
    this.#used += amount;
    return true;
  }

  give(amount: number): void {
    assert(amount <= this.#used, 'S10: what is given back was taken');
    this.#used -= amount;
  }
}
