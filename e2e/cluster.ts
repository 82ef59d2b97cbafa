// Clusters of servers that start from the bundle.
import {
  type Cluster,
  type ClusterOptions,
  startCluster as startProcesses,
} from '@syncline/testkit';
import { BUNDLE } from './cli-process.js';

export function startCluster(options: ClusterOptions): Promise<Cluster> {
  return startProcesses({ program: BUNDLE, ...options });
}
