export type { AllowList } from './allow-list.js';
export type { CellDeltas, Cells } from './cells.js';
export type {
  ClientStream,
  FairRemote,
  StateStreamListener,
  StateTransport,
} from './client/fair-remote.js';
export type { DecayPolicy } from './decay.js';
export type { Decision, Explanation } from './decision.js';
export type {
  CloseOptions,
  CostOptions,
  FairTracker,
  FairTrackerDeps,
  RunOptions,
  TrackerStatus,
} from './fair-tracker.js';
export type { FlowKey } from './flow-key.js';
export type { Combine, LevelExplanation } from './flow-table.js';
export { fairLimits } from './limits.js';
export { type FairMetricName, fairMetrics } from './metrics-list.js';
export { addressKey } from './middleware/address-key.js';
export type { Outcome, Settled } from './outcome.js';
export { createFairTracker } from './tracker.js';
export type { FairTrackerOptions } from './tracker-options.js';
export { type FairShape, type FairTuning, tuneFair } from './tuning.js';
export type {
  Hello,
  SyncRequest,
  SyncResponse,
  Welcome,
  WireTrackerConfig,
} from './wire/sync-messages.js';
