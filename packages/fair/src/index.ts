export type { AllowList } from './allow-list.js';
export type { DecayPolicy } from './decay.js';
export type { Decision, Explanation } from './decision.js';
export type {
  CostOptions,
  FairTracker,
  FairTrackerDeps,
  RunOptions,
  TrackerStatus,
} from './fair-tracker.js';
export type { FlowKey } from './flow-key.js';
export type { Combine, LevelExplanation } from './flow-table.js';
export { fairLimits } from './limits.js';
export { createFairTracker } from './local-tracker.js';
export { type FairMetricName, fairMetrics } from './metrics-list.js';
export { addressKey } from './middleware/address-key.js';
export type { Outcome, Settled } from './outcome.js';
export type { FairTrackerOptions } from './tracker-options.js';
export { type FairShape, type FairTuning, tuneFair } from './tuning.js';
