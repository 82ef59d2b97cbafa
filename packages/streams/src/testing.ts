export {
  type SinkAbilities,
  type SinkSubject,
  sinkSuite,
} from './conformance/sink-suite.js';
export { type SourceSubject, sourceSuite } from './conformance/source-suite.js';
export type { StateStoreAbilities, StateStoreSubject } from './conformance/state-store-subject.js';
export { stateStoreSuite } from './conformance/state-store-suite.js';
export type { CrashKind } from './crash/crash-point.js';
export {
  type CrashReport,
  type CrashSubject,
  type CrashTestOptions,
  crashTest,
} from './crash/crash-test.js';
export {
  type Fate,
  SimulatedWorkers,
  type SimulatedWorkersOptions,
} from './workers/simulated-workers.js';
