// Every workload that `npm run test:sim` knows. A slice adds its own here.
import { fairWorkload } from '../fair-cluster/fair-workload.js';
import { jobsWorkload } from '../jobs-node/jobs-workload.js';
import { meshWorkload } from '../mesh-nodes/mesh-workload.js';
import { setsClusterWorkload } from '../sets-cluster/cluster-workload.js';
import { setsWorkload } from '../sets-node/sets-workload.js';
import type { WorkloadEntry } from './workload.js';

export const workloads: readonly WorkloadEntry[] = [
  fairWorkload,
  meshWorkload,
  setsWorkload,
  setsClusterWorkload,
  jobsWorkload,
];
