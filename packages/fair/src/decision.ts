// What `register` returns. Delays are whole seconds from 1 to 30, so all decisions are preallocated and the hot
// path allocates none.
import { type Decay, decayTimeMs } from './decay.js';
import type { LevelExplanation } from './flow-table.js';

export interface Decision {
  /** Refuse the request. Always false in shadow mode. */
  readonly throttled: boolean;
  /** What `throttled` would be without shadow mode. */
  readonly wouldThrottle: boolean;
  /** When to retry: whole seconds, in ms; 0 if it would not be throttled. */
  readonly retryAfterMs: number;
  /** With the option `explain`. */
  readonly explanation?: Explanation;
}

export interface Explanation {
  /** The flow's probability, before its cost and `probabilityMax`. */
  readonly probability: number;
  readonly cost: number;
  /** The probability that the random number was compared with. */
  readonly effectiveProbability: number;
  /** The seed of the main structure. */
  readonly seed: number;
  /** Empty for a request without a key. */
  readonly levels: readonly LevelExplanation[];
  /** The level whose probability decided; undefined if all did (`combine: 'mean'`). */
  readonly decidingLevel: number | undefined;
  /** The flow's probability in the structure that is main in the next window. */
  readonly secondaryProbability: number;
  /** Factor applied to outcomes now: above 1 while the shared state is unreachable. */
  readonly gain: number;
  /** Whether the cells are those of the shared state. */
  readonly synced: boolean;
}

export const ADMITTED: Decision = Object.freeze({
  throttled: false,
  wouldThrottle: false,
  retryAfterMs: 0,
});

const RETRY_SECONDS_MIN = 1;
const RETRY_SECONDS_MAX = 30;
const RETRY_JITTER = 0.25;
/** A flow should retry when its chance of being admitted is even. */
const RETRY_PROBABILITY = 0.5;

/** Index 0 is a wait of 1 s. */
export function createRefusals(isShadow: boolean): readonly Decision[] {
  return Array.from({ length: RETRY_SECONDS_MAX }, (_, index) =>
    Object.freeze({
      throttled: !isShadow,
      wouldThrottle: true,
      retryAfterMs: (index + 1) * 1000,
    }),
  );
}

/** Whole seconds from 1 to 30. `chance` in [0, 1) spreads those that were refused together. */
export function retryAfterSeconds(decay: Decay, probability: number, chance: number): number {
  const untilEvenMs = decayTimeMs(decay, probability, RETRY_PROBABILITY);
  const seconds = Math.ceil((untilEvenMs / 1000) * (1 + RETRY_JITTER * chance));
  return Math.min(RETRY_SECONDS_MAX, Math.max(RETRY_SECONDS_MIN, seconds));
}
