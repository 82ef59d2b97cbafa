// Bugs in the service's clock: decay that follows wall time, and a wall clock that is a window late.
import type { Clock } from '@syncline/kernel';
import type { PlantedFairBug } from '../planted-bug.js';

export function plantInClock(
  clock: Clock,
  bug: PlantedFairBug | undefined,
  windowMs: number,
): Clock {
  const isLate = bug === 'fair-late-eviction';
  const isWall = bug === 'fair-wall-clock-decay';
  return {
    nowMs: () => clock.nowMs() - (isLate ? windowMs : 0),
    monotonicMs: () => (isWall ? clock.nowMs() : clock.monotonicMs()),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    setTimer: (ms, callback, options) => clock.setTimer(ms, callback, options),
    defer: (callback) => clock.defer(callback),
  };
}
