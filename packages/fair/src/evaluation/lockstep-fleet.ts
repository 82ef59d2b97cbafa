// A fleet whose instances share through a real service: at the end of each interval all flush together, and the
// evaluation continues when everything was acknowledged and all have the same state.
//
// Trackers flush as soon as possible (an interval of 0), which their clock controls: its `defer` is held back
// until the interval ends.
import type { Clock } from '@syncline/kernel';
import type { FairRemote } from '../client/fair-remote.js';
import type { FairTracker } from '../fair-tracker.js';
import { createTrackers, type Fleet, type FleetSettings, retryBudgetFor } from './fleet.js';
import type { ManualClock } from './manual-clock.js';

export interface LockstepDeps {
  /** One for all instances. */
  readonly remote: FairRemote;
  /** Lets the event loop run until the condition holds; rejects if that takes too long. */
  waitUntil(condition: () => boolean, what: string): Promise<void>;
  /** Ends the service, after the instances. */
  close(): Promise<void>;
}

/** Tolerance for different rounding; far below what one outcome adds. */
const PROBABILITY_TOLERANCE = 1e-9;

/** Resolves when all instances are connected. */
export async function openLockstepFleet(
  deps: LockstepDeps,
  settings: FleetSettings,
): Promise<Fleet> {
  const held = new HeldCallbacks();
  const clock = held.clockOf(settings.clock);
  const { remote } = deps;
  const retryBudgetMs = retryBudgetFor(settings);
  const options = { remote, flushIntervalMs: 0, retryBudgetMs, clock };
  const trackers = createTrackers(settings, () => options);
  const close = async () => {
    await closeTrackers(trackers, settings.clock, deps);
    await deps.close();
  };
  const areLive = () => trackers.every((tracker) => tracker.status().connected);
  await deps.waitUntil(areLive, 'instances to connect').catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const share = async (keys: ReadonlySet<string>) => {
    held.release();
    const hasSettled = () => trackers.every(isIdle) && doAgree(trackers, keys);
    await deps.waitUntil(hasSettled, 'instances to receive all outcomes');
  };
  return { trackers, share, close };
}

function isIdle(tracker: FairTracker): boolean {
  const { connected, pendingCells } = tracker.status();
  return connected && pendingCells === 0;
}

/** An outcome changes all cells of its key in one message, so the key's probability shows whether it arrived. */
function doAgree([first, ...others]: readonly FairTracker[], keys: ReadonlySet<string>): boolean {
  for (const key of keys) {
    const wanted = first?.peek(key);
    const isSame = (tracker: FairTracker) => {
      const { probability, secondaryProbability } = tracker.peek(key);
      return (
        isNear(probability, wanted?.probability) &&
        isNear(secondaryProbability, wanted?.secondaryProbability)
      );
    };
    if (!others.every(isSame)) return false;
  }
  return true;
}

function isNear(probability: number, other = Number.NaN): boolean {
  return Math.abs(probability - other) <= PROBABILITY_TOLERANCE;
}

/** What waits for the end of the interval. */
class HeldCallbacks {
  readonly #callbacks = new Set<() => void>();

  clockOf(clock: ManualClock): Clock {
    return {
      ...clock.skewed(0),
      defer: (callback) => {
        const held = () => callback();
        this.#callbacks.add(held);
        return { cancel: () => void this.#callbacks.delete(held) };
      },
    };
  }

  release(): void {
    const callbacks = [...this.#callbacks];
    this.#callbacks.clear();
    for (const callback of callbacks) callback();
  }
}

/** Closing waits for the last messages of the service, and nothing else moves the clock then. */
async function closeTrackers(
  trackers: readonly FairTracker[],
  clock: ManualClock,
  { waitUntil }: LockstepDeps,
): Promise<void> {
  let isClosed = false;
  const closing = Promise.all(trackers.map((tracker) => tracker.close())).then(() => {
    isClosed = true;
  });
  await waitUntil(() => {
    clock.advanceTo(clock.monotonicMs() + 10);
    return isClosed;
  }, 'instances to close');
  await closing;
}
