export { type CertificatePair, makeCertificates, type TestCertificates } from './certificates.js';
export { type ChildProgram, startChild } from './child-program.js';
export { type Cluster, type ClusterOptions, startCluster } from './cluster/cluster.js';
export type { ClusterNode } from './cluster/cluster-node.js';
export type { ListenerName } from './cluster/listener-line.js';
export type { ProcessExit, ProcessOptions, RunningProcess } from './cluster/running-process.js';
export { startProcess } from './cluster/start-process.js';
export { loadKeys } from './fair-instance/fair-load.js';
export type {
  InstanceCell,
  InstanceOptions,
  InstanceView,
  LoadFigures,
} from './fair-instance/instance-lines.js';
export { type FairInstance, startFairInstance } from './fair-instance/start-fair-instance.js';
export {
  type FaultProxy,
  type FaultProxyOptions,
  startFaultProxy,
} from './fault-proxy/fault-proxy.js';
export type { ProxyDirection, ProxyFaults } from './fault-proxy/faults.js';
export {
  type LocalService,
  type RedisServer,
  startNats,
  startRedis,
} from './local-service.js';
export { type PostgresServer, startPostgres } from './postgres-server.js';
export { allFaults } from './simulation/faults/all-faults.js';
export {
  type EditedPackage,
  loadEdited,
  type SourceEdit,
} from './simulation/load-edited.js';
export { runSeed, type SeedOptions, type SeedResult } from './simulation/run-seed.js';
export { type RunSeedsOptions, runSeeds, type SeedsReport } from './simulation/run-seeds.js';
export { runSimCommand, type SimCommandDeps } from './simulation/sim-command.js';
export type { Workload, WorkloadContext, WorkloadEntry } from './simulation/workload.js';
export { mountSmallDisk, type NoSmallDisk, type SmallDisk } from './small-disk.js';
export { checkLedger, lastInLedger, ledgerBatch } from './storage-ledger.js';
export {
  type KillOptions,
  type Kills,
  runKilled,
  type StreamPlan,
  type StreamStart,
  type StreamStartOutcome,
  totalOf,
} from './stream-plan.js';
export { makeMemoryDirectory, makeTempDirectory, type TempDirectory } from './temp-directory.js';
