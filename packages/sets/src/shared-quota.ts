// A limit that all connections share: what one takes is not available to the others until it is released.
import { assert } from '@syncline/kernel';

export class SharedQuota {
  readonly #max: number;
  used = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** False, with nothing taken, if too little is left. */
  tryTake(amount: number): boolean {
    if (this.used + amount > this.#max) return false;
    this.used += amount;
    return true;
  }

  release(amount: number): void {
    assert(amount <= this.used, 'S10: only what was taken is released');
    this.used -= amount;
  }
}
