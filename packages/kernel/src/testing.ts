export { type ClockSubject, clockSuite } from './conformance/clock-suite.js';
export type { ConformanceCase } from './conformance/conformance-case.js';
export type { FilesAbilities, FilesSubject } from './conformance/files-subject.js';
export { filesSuite } from './conformance/files-suite.js';
export type { NetworkSubject } from './conformance/network-pair.js';
export { networkSuite } from './conformance/network-suite.js';
export { type RandomSubject, randomSuite } from './conformance/random-suite.js';
export type { StorageAbilities, StorageSubject } from './conformance/storage-subject.js';
export { storageSuite } from './conformance/storage-suite.js';
export { checkFeedComplete, checkFeedStream } from './feed/feed-checker.js';
export { ManualTimers } from './feed/manual-timers.js';
export { replayLog } from './log/log-replay.js';
export { createSeededRandom, type SeededRandom } from './seeded-random.js';
export type {
  DiskOperation,
  DiskOperationKind,
  DiskPlan,
  DiskProfile,
  PowerLoss,
  UnsyncedChange,
  Verdict,
} from './sim/disk/disk-plan.js';
export { SeededDiskPlan } from './sim/disk/disk-plan.js';
export type { SimDisk } from './sim/disk/sim-disk.js';
export { calmLink, type LinkProfile, roughLink } from './sim/network/link-profile.js';
export type { MessageLink } from './sim/network/message-link.js';
export type { NetworkControls } from './sim/network/network-controls.js';
export { runInSimulation, type SimulatedBody } from './sim/run-in-simulation.js';
export type { SimChaos } from './sim/sim-chaos.js';
export type { MachineClock } from './sim/sim-clock.js';
export type { Boot, SimNode, SimPorts } from './sim/sim-node.js';
export { Simulation, type SimulationOptions } from './sim/simulation.js';
export {
  SimulationFailure,
  type SimulationFailureFacts,
  type SimulationFailureKind,
} from './sim/simulation-failure.js';
export { formatTraceEntry, type Trace, type TraceEntry } from './sim/trace.js';
