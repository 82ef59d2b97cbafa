export { fairStoreSuite } from './conformance/fair-store-suite.js';
export type { FairStoreSubject } from './conformance/store-samples.js';
export { type ClassSeries, classSeries, meanSeries } from './evaluation/class-series.js';
export {
  createEvaluation,
  type Evaluation,
  type EvaluationOptions,
} from './evaluation/evaluate.js';
export {
  type Absence,
  absenceOf,
  FAULTS,
  type Fault,
  openFaultyFleet,
} from './evaluation/faulty-fleet.js';
export {
  type Fleet,
  type FleetSettings,
  type OpenFleet,
  openIsolatedFleet,
} from './evaluation/fleet.js';
export { type LockstepDeps, openLockstepFleet } from './evaluation/lockstep-fleet.js';
export {
  createLoopbackRemote,
  type LoopbackRemoteOptions,
  type LoopbackService,
} from './evaluation/loopback-network.js';
export { type ClientClass, type Scenario, scenarios } from './evaluation/scenario.js';
export type { Tally } from './evaluation/tally.js';
export { Trial, type TrialOptions } from './evaluation/trial.js';
export {
  judge,
  judgePart,
  meanVerdict,
  type PartVerdict,
  type Verdict,
} from './evaluation/verdict.js';
export { cellsOfFlow, type FlowCellsOptions } from './testing/flow-cells.js';
export {
  decodeSyncRequest,
  decodeSyncResponse,
  encodeSyncRequest,
  encodeSyncResponse,
} from './wire/sync-codec.js';
