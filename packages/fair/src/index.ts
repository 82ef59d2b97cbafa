export type { AllowList } from './allow-list.js';
export {
  type CallerReporter,
  type CallerReporterOptions,
  startCallerReporter,
} from './caller-reporter.js';
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
  TopCaller,
  TrackerStatus,
} from './fair-tracker.js';
export type { FlowKey } from './flow-key.js';
export type { Combine, LevelExplanation } from './flow-table.js';
export { fairLimits } from './limits.js';
export { type FairMetricName, fairMetrics } from './metrics-list.js';
export { addressKey } from './middleware/address-key.js';
export type { Outcome, Settled } from './outcome.js';
export {
  createEmbeddedFairStore,
  type EmbeddedFairStoreDeps,
  type EmbeddedFairStoreOptions,
} from './state/embedded-fair-store.js';
export type {
  Applied,
  ChangeId,
  ChangeRule,
  FairStore,
  MaybePromise,
  Namespace,
  SeedInfo,
  SharedTrackers,
} from './state/fair-store.js';
export {
  createMemoryFairStore,
  type MemoryFairStore,
  type MemoryFairStoreDeps,
} from './state/memory-fair-store.js';
export type {
  CellFacts,
  NamespaceFacts,
  SeedFacts,
  TrackerConfigFacts,
} from './state/namespace-facts.js';
export type { DefaultSeedUnit } from './state/seed-age.js';
export type {
  StateServiceDeps,
  StateServiceOptions,
} from './state/state-options.js';
export {
  StateService,
  type StateServiceFacts,
  type StateServiceStatus,
} from './state/state-service.js';
export type { StateStream, StreamSink } from './state/stream-outbox.js';
export type { ThrottledCaller } from './throttled-callers.js';
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
