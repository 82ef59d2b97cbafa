// Fleets that share through a state service while something is wrong: clocks, links or the service itself.
// Service and links are in this process, so that a fault occurs at the same moment in every run.
import { silentLogger, silentMetrics } from '@syncline/kernel';
import { createMemoryFairStore } from '../state/memory-fair-store.js';
import { StateService } from '../state/state-service.js';
import {
  createTrackers,
  type Fleet,
  type FleetSettings,
  type OpenFleet,
  retryBudgetFor,
} from './fleet.js';
import { type LinkQuality, LoopbackNetwork } from './loopback-network.js';

/** The fault. `none` is the baseline. */
export const FAULTS = [
  'none',
  'skew',
  'loss',
  'duplicates',
  'outage',
  'restart',
  'killed',
] as const;
export type Fault = (typeof FAULTS)[number];

/** Clocks are off by this much, every other one in the other direction. */
const SKEW_MS = 500;
const GOOD_LINK: LinkQuality = { delayMs: 2, lossRatio: 0, duplicateRatio: 0 };
const LINKS: Readonly<Partial<Record<Fault, LinkQuality>>> = {
  loss: { ...GOOD_LINK, lossRatio: 0.01 },
  duplicates: { ...GOOD_LINK, duplicateRatio: 0.05 },
};

/** When the service goes down and comes back, as fractions of the run. */
const ABSENCES: Readonly<Partial<Record<Fault, readonly [number, number]>>> = {
  outage: [0.3, 0.5],
  restart: [0.3, 0.305],
  killed: [0.4, 0.6],
};
/** The service loses its state. */
const FORGETFUL: ReadonlySet<Fault> = new Set(['restart', 'killed']);

export interface Absence {
  readonly fromSeconds: number;
  readonly toSeconds: number;
}

/** When the service is down; undefined if it never is. */
export function absenceOf(fault: Fault, durationSeconds: number): Absence | undefined {
  const [leaves, returns] = ABSENCES[fault] ?? [];
  if (leaves === undefined || returns === undefined) return undefined;
  return { fromSeconds: leaves * durationSeconds, toSeconds: returns * durationSeconds };
}

export function openFaultyFleet(fault: Fault, durationSeconds: number): OpenFleet {
  return async (settings) => {
    const { clock, random, intervalMs } = settings;
    let service = startService(settings);
    const network = new LoopbackNetwork(
      { clock, random: random.fork('network'), accept: (sink) => service.connect(sink) },
      LINKS[fault] ?? GOOD_LINK,
    );
    const trackers = createTrackers(settings, (instance) => ({
      remote: network.remote('eval'),
      flushIntervalMs: intervalMs,
      retryBudgetMs: retryBudgetFor(settings),
      ...(fault === 'skew' && { clock: clock.skewed(instance % 2 === 0 ? SKEW_MS : -SKEW_MS) }),
    }));
    const absence = absenceOf(fault, durationSeconds);
    if (absence !== undefined) {
      clock.setTimer(absence.fromSeconds * 1_000, () => network.cut());
      clock.setTimer(absence.toSeconds * 1_000, () => {
        if (FORGETFUL.has(fault)) service = startService(settings);
        network.restore();
      });
    }
    return { trackers, share: () => undefined, close: () => closeAll(trackers, service) };
  };
}

/** Nothing is sent any more: the clock is stopped, so no answer would arrive. */
async function closeAll(trackers: Fleet['trackers'], service: StateService): Promise<void> {
  for (const tracker of trackers) await tracker.close({ timeoutMs: 0 });
  await service.close();
}

function startService({ clock, random }: FleetSettings): StateService {
  const store = createMemoryFairStore({ clock });
  const deps = { clock, store, logger: silentLogger, metrics: silentMetrics };
  return new StateService({ ...deps, random: random.fork(`service ${clock.monotonicMs()}`) });
}
