// Kills processes as kill -9 does, and starts them again. Sometimes all of them at once.
import type { Workload } from '../workload.js';
import { pauseBetween, pickVictims } from './fault-pace.js';

const BETWEEN_MS = [300, 10_000] as const;
const DOWN_MS = [1, 5_000] as const;
const ALL_PROBABILITY = 0.1;

export const crashes: Workload = {
  name: 'crashes',
  async start(context, signal) {
    while (await pauseBetween(context, BETWEEN_MS, signal)) {
      const victims = pickVictims(context, ALL_PROBABILITY);
      for (const node of victims) node.kill();
      await pauseBetween(context, DOWN_MS, signal);
      for (const node of victims) node.start();
    }
  },
};
