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
