// How much of the time folding takes while the node is busy: little when the head is small, all of it
// near the limit. So a burst is taken at full speed, and steady writing settles where both keep up.
import { setsLimits } from '../limits.js';

/** Folding never stands still once it has begun. */
const DUTY_MIN = 0.1;
/** Parts of the limit between which the duty grows from least to all. */
const GROWS_FROM = setsLimits.foldEntriesMin.value / setsLimits.headEntriesMax.value;
const GROWS_TO = 15 / 16;

/** The part of the time for folding, DUTY_MIN to 1. `fill` is the head as a part of its limit. */
export function foldDuty(fill: number): number {
  const growth = (fill - GROWS_FROM) / (GROWS_TO - GROWS_FROM);
  return Math.min(1, Math.max(DUTY_MIN, DUTY_MIN + (1 - DUTY_MIN) * growth));
}

/** How long to rest after folding was at work for so long. */
export function foldRestMs(workMs: number, fill: number): number {
  const duty = foldDuty(fill);
  return (workMs * (1 - duty)) / duty;
}
