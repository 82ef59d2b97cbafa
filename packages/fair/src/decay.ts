// How a throttling probability decays without outcomes: a pure function of the elapsed time.
//
// Outcomes change a probability in proportion to the admitted rate, so only decay distinguishes heavy flows
// from light ones. Exponential decay grants a flow of rate r about r·A/(r + A), a soft cap; linear decay grants
// min(r, A), which is max-min fair. A cell whose time is in the future has not decayed at all: the elapsed time
// is never negative.
//
// F17  Decay in two steps equals decay in one: reading a cell changes nothing.

export type DecayPolicy = 'exponential' | 'linear';

export interface Decay {
  readonly policy: DecayPolicy;
  /** Lambda of the exponential, leak of the linear policy. */
  readonly ratePerSecond: number;
}

export function decayed(decay: Decay, probability: number, elapsedMs: number): number {
  if (probability === 0 || elapsedMs <= 0) return probability;
  const faded = (decay.ratePerSecond * elapsedMs) / 1000;
  if (decay.policy === 'exponential') return probability * Math.exp(-faded);
  return Math.max(0, probability - faded);
}

/** Ms until `probability` has decayed to `target`; 0 if it already has, Infinity if it never does. */
export function decayTimeMs(decay: Decay, probability: number, target: number): number {
  if (probability <= target) return 0;
  const way =
    decay.policy === 'exponential' ? Math.log(probability / target) : probability - target;
  return (way / decay.ratePerSecond) * 1000;
}

// `decayed` for hot paths: the same bits, without an exponential or a division for the times that are common.
//
// Trackers and services count time in whole ms, and a cell of a busy flow changed moments ago. So the decay
// over the first seconds is precomputed; any other time uses the formula.

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
