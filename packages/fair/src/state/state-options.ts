// What the state service needs, and what one may set.
import type { Clock, Logger, Metrics, Random } from '@syncline/kernel';
import type { FairMetricName } from '../metrics-list.js';
import type { AnswerPace } from './answer-pace.js';
import type { FairStore } from './fair-store.js';
import type { DefaultSeedUnit } from './seed-age.js';

export interface StateServiceDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics<FairMetricName>;
  /** Stays the caller's: the service does not close it. */
  readonly store: FairStore;
}

/** What its namespaces need: one pace for all of them. */
export interface NamespaceDeps extends StateServiceDeps {
  readonly pace: AnswerPace;
}

export interface StateServiceOptions {
  /** Changes are sent at once (0, the default), or gathered for so long. */
  readonly broadcastIntervalMs?: number;
  /** Cells that a round sends at most; the rest waits for the next one. Default 0: all. */
  readonly broadcastBudgetCells?: number;
  /** Window of the default namespace: seeds go when they are three of it old. Default 300,000. */
  readonly defaultWindowMs?: number;
  /** What the seeds of the default namespace count. Default `auto`: read from their size. */
  readonly defaultSeedUnit?: DefaultSeedUnit;
}

export type StateSettings = Required<StateServiceOptions>;

export const DEFAULT_SETTINGS: StateSettings = {
  broadcastIntervalMs: 0,
  broadcastBudgetCells: 0,
  defaultWindowMs: 300_000,
  defaultSeedUnit: 'auto',
};
