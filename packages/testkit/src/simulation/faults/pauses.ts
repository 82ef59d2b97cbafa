// Stops processes for a while, as a garbage collection, a swapped page or a debugger does.
import type { Workload } from '../workload.js';
import { pauseBetween, pickTarget } from './fault-pace.js';

const BETWEEN_MS = [200, 10_000] as const;
const PAUSED_MS = [10, 10_000] as const;

export const pauses: Workload = {
  name: 'pauses',
  async start(context, signal) {
    while (await pauseBetween(context, BETWEEN_MS, signal)) {
      const victim = pickTarget(context);
      victim?.pause();
      await pauseBetween(context, PAUSED_MS, signal);
      victim?.resume();
    }
  },
};
