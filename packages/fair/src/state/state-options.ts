// Dependencies and options of the state service.
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
  /** Window of the default namespace: seeds are dropped after three windows. Default 300,000. */
  readonly defaultWindowMs?: number;
  /** The unit of the default namespace's seeds. Default `auto`: read from their size. */
  readonly defaultSeedUnit?: DefaultSeedUnit;
}

export type StateSettings = Required<StateServiceOptions>;

export const DEFAULT_SETTINGS: StateSettings = {
  broadcastIntervalMs: 0,
  broadcastBudgetCells: 0,
  defaultWindowMs: 300_000,
  defaultSeedUnit: 'auto',
};
