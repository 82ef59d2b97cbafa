// Disks whose syncs fail now and then. Such an error is final: the process must stop.
import type { Workload } from '../workload.js';
import { pauseBetween, pickTarget } from './fault-pace.js';

const BETWEEN_MS = [500, 15_000] as const;
const FAILING_MS = [10, 2_000] as const;

export const failingSyncs: Workload = {
  name: 'failing-syncs',
  async start(context, signal) {
    while (await pauseBetween(context, BETWEEN_MS, signal)) {
      const victim = pickTarget(context);
      victim?.disk.adjust({ syncFailureProbability: 0.5 });
      await pauseBetween(context, FAILING_MS, signal);
      victim?.disk.adjust({ syncFailureProbability: 0 });
    }
  },
};
