// `decayed` for hot paths: the same bits, without an exponential or a division for the times that are common.
//
// Trackers and services count time in whole ms, and a cell of a busy flow changed moments ago. So the decay
// over the first seconds is precomputed; any other time uses the formula.
import { type Decay, decayed } from './decay.js';

/** Elapsed times below this are looked up: 32 KiB. */
const TABLE_MS = 4_096;

export class DecayTable {
  readonly #decay: Decay;
  readonly #isLinear: boolean;
  /** By elapsed ms: the factor applied to a probability, or with the linear policy the amount subtracted. */
  readonly #effects = new Float64Array(TABLE_MS);

  constructor(decay: Decay) {
    this.#decay = decay;
    const { policy, ratePerSecond } = decay;
    this.#isLinear = policy === 'linear';
    for (let elapsedMs = 0; elapsedMs < TABLE_MS; elapsedMs += 1) {
      const faded = (ratePerSecond * elapsedMs) / 1000;
      this.#effects[elapsedMs] = this.#isLinear ? faded : Math.exp(-faded);
    }
  }

  /** The probability after decay. */
  decayed(probability: number, elapsedMs: number): number {
    if (probability === 0 || elapsedMs <= 0) return probability;
    const wholeMs = elapsedMs | 0; // differs for a time that is not whole, or above 24 days
    if (wholeMs !== elapsedMs || wholeMs >= TABLE_MS) {
      return decayed(this.#decay, probability, elapsedMs);
    }
    const effect = this.#effects[wholeMs] ?? 0;
    if (!this.#isLinear) return probability * effect;
    return probability > effect ? probability - effect : 0;
  }
}
