// Disks that take from 1 ms to 2 s for some operations.
import type { Workload } from '../workload.js';
import { pauseBetween, pickTarget } from './fault-pace.js';

const CHANGE_MS = [200, 8_000] as const;
const SLOW_MS_MAX = 2_000;

export const slowDisks: Workload = {
  name: 'slow-disks',
  async start(context, signal) {
    do {
      const slowProbability = context.random.float() ** 2;
      pickTarget(context)?.disk.adjust({ slowProbability, slowMsMax: SLOW_MS_MAX });
    } while (await pauseBetween(context, CHANGE_MS, signal));
    for (const node of context.targets) node.disk.adjust({ slowProbability: 0 });
  },
};
