// A clock for a busy process: time passes with each read, and turns of the event loop take a while.
//
// Simulated code takes no time. Without this, long commands and checkpoints would never use up their slice, and no
// write could interleave with them.
import type { Clock, Timer } from '@syncline/kernel';
import type { SeededRandom } from '@syncline/kernel/testing';

const LOOK_MS = 2.5;
/** Timers follow the real clock, so this one must not run far ahead. */
const AHEAD_MS_MAX = 50;

/** With `turnMsMax` 0 a turn takes no time. */
export function createBusyClock(clock: Clock, random: SeededRandom, turnMsMax: number): Clock {
  let lastMs = 0;
  /** What runs at the end of the turn. */
  let deferred: { run: () => void }[] = [];
  const endTurn = () => {
    const turn = deferred;
    deferred = [];
    for (const each of turn) clock.defer(() => each.run());
  };
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs() {
      const ms = clock.monotonicMs();
      lastMs = Math.max(ms, Math.min(lastMs + LOOK_MS, ms + AHEAD_MS_MAX), lastMs);
      return lastMs;
    },
    sleep: (ms, signal) => clock.sleep(ms, signal),
    setTimer: (ms, callback) => clock.setTimer(ms, callback),
    defer(callback): Timer {
      if (turnMsMax === 0) return clock.defer(callback);
      const entry = { run: callback };
      if (deferred.push(entry) === 1) clock.setTimer(random.float() * turnMsMax, endTurn);
      const cancel = () => {
        entry.run = () => {};
      };
      return { cancel };
    },
  };
}
