// The instances that take a scenario's requests, as a balancer in front of them sees them: a list of trackers
// that may share outcomes. How they share is up to the fleet.
import { type Clock, silentLogger, silentMetrics } from '@syncline/kernel';
import type { SeededRandom } from '@syncline/kernel/testing';
import type { DecayPolicy } from '../decay.js';
import type { FairTracker } from '../fair-tracker.js';
import { createFairTracker } from '../tracker.js';
import type { FairTrackerOptions } from '../tracker-options.js';
import type { ManualClock } from './manual-clock.js';

export interface Fleet {
  readonly trackers: readonly FairTracker[];
  /**
   * Called at the end of each interval with the keys of its outcomes: resolves when every instance has the
   * outcomes of the others.
   */
  share(keys: ReadonlySet<string>): Promise<void> | undefined;
  close(): Promise<void>;
}

export interface FleetSettings {
  readonly instances: number;
  readonly policy: DecayPolicy;
  readonly intervalMs: number;
  readonly clock: ManualClock;
  readonly random: SeededRandom;
}

export type OpenFleet = (settings: FleetSettings) => Promise<Fleet>;

/** Independent instances: a fleet of one, or the contrast to a fleet that shares. */
export const openIsolatedFleet: OpenFleet = async (settings) => {
  const trackers = createTrackers(settings, () => ({}));
  return {
    trackers,
    share: () => undefined,
    async close() {
      for (const tracker of trackers) await tracker.close();
    },
  };
};

/** All with the same secret, each with its own random numbers and, if needed, its own clock. */
export function createTrackers(
  { instances, policy, clock, random }: FleetSettings,
  special: (instance: number) => FairTrackerOptions & { readonly clock?: Clock },
): readonly FairTracker[] {
  const secret = random.fork('secret').bytes(32);
  return Array.from({ length: instances }, (_, instance) => {
    const { clock: ownClock = clock, ...options } = special(instance);
    return createFairTracker(
      { policy, secret, ...options },
      {
        clock: ownClock,
        random: random.fork(`tracker ${instance}`),
        logger: silentLogger,
        metrics: silentMetrics,
      },
    );
  });
}

/** The default, unless instances share so rarely that outcomes would be dropped before they are sent. */
export function retryBudgetFor({ intervalMs }: FleetSettings): number {
  return Math.max(5_000, 4 * intervalMs);
}
