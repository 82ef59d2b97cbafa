// All faults, for workloads that must survive every one of them.
import type { Workload } from '../workload.js';
import { clockSteps } from './clock-steps.js';
import { crashes } from './crashes.js';
import { failingSyncs } from './failing-syncs.js';
import { fullDisks } from './full-disks.js';
import { partitions } from './partitions.js';
import { pauses } from './pauses.js';
import { powerLosses } from './power-losses.js';
import { roughNetwork } from './rough-network.js';
import { slowDisks } from './slow-disks.js';

export const allFaults: readonly Workload[] = [
  clockSteps,
  crashes,
  failingSyncs,
  fullDisks,
  partitions,
  pauses,
  powerLosses,
  roughNetwork,
  slowDisks,
];
