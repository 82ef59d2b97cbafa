// `decayed` for hot paths: the same bits, without an exponential for the times that are common.
//
// Trackers and services count time in whole ms, and a cell of a busy flow changed moments ago. So the
// factors of the first seconds are computed once; any other time takes the formula.
import { type Decay, decayed } from './decay.js';

/** Elapsed times below this are looked up: 32 KiB of factors. */
const TABLE_MS = 4_096;

export class DecayTable {
  readonly #decay: Decay;
  readonly #isLinear: boolean;
  readonly #ratePerSecond: number;
  /** Empty for the linear policy, which needs none. */
  readonly #factors: Float64Array;

  constructor(decay: Decay) {
    this.#decay = decay;
    const { policy, ratePerSecond } = decay;
    this.#isLinear = policy === 'linear';
    this.#ratePerSecond = ratePerSecond;
    this.#factors = new Float64Array(policy === 'exponential' ? TABLE_MS : 0);
    for (let elapsedMs = 0; elapsedMs < this.#factors.length; elapsedMs += 1) {
      this.#factors[elapsedMs] = Math.exp(-((ratePerSecond * elapsedMs) / 1000));
    }
  }

  /** What is left of a probability. */
  decayed(probability: number, elapsedMs: number): number {
    if (probability === 0 || elapsedMs <= 0) return probability;
    if (this.#isLinear) {
      return Math.max(0, probability - (this.#ratePerSecond * elapsedMs) / 1000);
    }
    const factors = this.#factors;
    const wholeMs = elapsedMs | 0; // another number for a time that is not whole, or beyond 24 days
    if (wholeMs === elapsedMs && wholeMs < factors.length) {
      return probability * (factors[wholeMs] ?? 1);
    }
    return decayed(this.#decay, probability, elapsedMs);
  }
}
