// Disks that run full and get room again.
import type { Workload } from '../workload.js';
import { pauseBetween, pickTarget } from './fault-pace.js';

const BETWEEN_MS = [500, 10_000] as const;
const FULL_MS = [10, 5_000] as const;

export const fullDisks: Workload = {
  name: 'full-disks',
  async start(context, signal) {
    while (await pauseBetween(context, BETWEEN_MS, signal)) {
      const victim = pickTarget(context);
      victim?.disk.adjust({ isFull: true });
      await pauseBetween(context, FULL_MS, signal);
      victim?.disk.adjust({ isFull: false });
    }
  },
};
