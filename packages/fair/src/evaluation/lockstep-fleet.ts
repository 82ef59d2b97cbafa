// A fleet whose instances share through a real service: at the end of each interval all flush at once, and
// the evaluation goes on when everything was acknowledged and all have heard the same.
//
// Trackers flush "at once" (an interval of 0), which is when their clock says so: their `defer` is held back
// until the interval ends.
import type { Clock } from '@syncline/kernel';
import type { FairRemote } from '../client/fair-remote.js';
import type { FairTracker } from '../fair-tracker.js';
import { createTrackers, type Fleet, type FleetSettings } from './fleet.js';
import { HeardCells } from './heard-cells.js';
import type { ManualClock } from './manual-clock.js';

export interface LockstepDeps {
  /** One per instance. */
  createRemote(): FairRemote;
  /** Lets the event loop turn until the condition holds; rejects when that takes too long. */
  waitUntil(condition: () => boolean, what: string): Promise<void>;
  /** Ends the service, after the instances. */
  close(): Promise<void>;
}

/** Resolves when all instances are connected. */
export async function openLockstepFleet(
  deps: LockstepDeps,
  settings: FleetSettings,
): Promise<Fleet> {
  const held = new HeldCallbacks();
  const heard: HeardCells[] = [];
  const trackers = createTrackers(settings, () => {
    const cells = new HeardCells();
    heard.push(cells);
    const remote = cells.on(deps.createRemote());
    return { remote, flushIntervalMs: 0, clock: held.clockOf(settings.clock) };
  });
  const close = async () => {
    await closeTrackers(trackers, settings.clock, deps);
    await deps.close();
  };
  const areLive = () => trackers.every((tracker) => tracker.status().connected);
  await deps.waitUntil(areLive, 'instances to connect').catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const hasSettled = () =>
    heard.every(({ checksum }) => checksum === heard[0]?.checksum) &&
    trackers.every((tracker) => isIdle(tracker));
  const share = async () => {
    held.release();
    await deps.waitUntil(hasSettled, 'instances to hear from each other');
  };
  return { trackers, share, close };
}

function isIdle(tracker: FairTracker): boolean {
  const { connected, pendingCells } = tracker.status();
  return connected && pendingCells === 0;
}

/** What is done at the end of an interval. */
class HeldCallbacks {
  readonly #callbacks = new Set<() => void>();

  clockOf(clock: ManualClock): Clock {
    return {
      ...clock.skewed(0),
      defer: (callback) => {
        const held = () => callback();
        this.#callbacks.add(held);
        return { cancel: () => this.#callbacks.delete(held) };
      },
    };
  }

  release(): void {
    const callbacks = [...this.#callbacks];
    this.#callbacks.clear();
    for (const callback of callbacks) callback();
  }
}

/** Closing waits by the clock for what the service still says; nobody else moves it then. */
export async function closeTrackers(
  trackers: readonly FairTracker[],
  clock: ManualClock,
  { waitUntil }: Pick<LockstepDeps, 'waitUntil'>,
): Promise<void> {
  let isClosed = false;
  const closing = Promise.all(trackers.map((tracker) => tracker.close())).then(() => {
    isClosed = true;
  });
  const tick = () => {
    clock.advanceTo(clock.monotonicMs() + 10);
    return isClosed;
  };
  await waitUntil(tick, 'instances to close');
  await closing;
}
