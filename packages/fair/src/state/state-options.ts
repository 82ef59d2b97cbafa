// Dependencies and options of the state service.
import type { Clock, Logger, Metrics, Random } from '@syncline/kernel';
import { fairLimits } from '../limits.js';
import type { FairMetricName } from '../metrics-list.js';
import { refuseUnless } from '../tuning.js';
import type { AnswerPace } from './answer-pace.js';
import type { FairStore } from './fair-store.js';
import type { DefaultSeedUnit } from './seed-age.js';

export interface StateServiceDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics<FairMetricName>;
  /** Owned by the caller: the service does not close it. */
  readonly store: FairStore;
}

/** What its namespaces need: one pace for all of them. */
export interface NamespaceDeps extends StateServiceDeps {
  readonly pace: AnswerPace;
}

export interface StateServiceOptions {
  /** How long changes are collected before they are sent. Default 0: not at all. */
  readonly broadcastIntervalMs?: number;
  /** Maximum cells per round; the rest waits for the next one. Default 0: no limit. */
  readonly broadcastBudgetCells?: number;
  /** Window of the default tracker: seeds are dropped after three windows. Default 300,000. */
  readonly defaultWindowMs?: number;
  /** The unit of the default tracker's seeds. Default `auto`: read from their size. */
  readonly defaultSeedUnit?: DefaultSeedUnit;
}

export type StateSettings = Required<StateServiceOptions>;

export const DEFAULT_SETTINGS: StateSettings = {
  broadcastIntervalMs: 0,
  broadcastBudgetCells: 0,
  defaultWindowMs: 300_000,
  defaultSeedUnit: 'auto',
};

// Values of the metric label `tracker`. Names come from clients and trackers come and go, so the number of
// values is limited here: what comes later is counted together.

export const DEFAULT_LABEL = 'default';
const OTHER_LABEL = 'other';

export class TrackerLabels {
  readonly #names = new Set<string>([DEFAULT_LABEL, OTHER_LABEL]);

  labelOf(tracker: string): string {
    if (tracker === DEFAULT_LABEL) return OTHER_LABEL; // a tracker of that name is not the namespace
    if (this.#names.has(tracker)) return tracker;
    if (this.#names.size >= fairLimits.trackersMax.value) return OTHER_LABEL;
    this.#names.add(tracker);
    return tracker;
  }

  /** Of a name that may not become a tracker: such names make no new label. */
  knownLabelOf(tracker: string): string {
    return this.#names.has(tracker) ? tracker : DEFAULT_LABEL;
  }
}

const NAME = new RegExp(`^[A-Za-z0-9._@-]{1,${fairLimits.nameLengthMax.value}}$`);

/** Throws `invalid-argument`: a name is part of keys and of patterns. */
export function checkTrackerName(tracker: string): void {
  refuseUnless(NAME.test(tracker) && tracker !== DEFAULT_LABEL, 'tracker', {
    value: tracker,
    wanted: `1 to ${fairLimits.nameLengthMax.value} letters, digits or ._@-, and not ${DEFAULT_LABEL}`,
  });
}
