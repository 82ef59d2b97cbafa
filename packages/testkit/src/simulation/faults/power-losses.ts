// Cuts the power of machines: what was not synced may be gone, and their peers are not notified.
import type { Workload } from '../workload.js';
import { pauseBetween, pickVictims } from './fault-pace.js';

const BETWEEN_MS = [500, 15_000] as const;
const DARK_MS = [100, 8_000] as const;
const ALL_PROBABILITY = 0.2;

export const powerLosses: Workload = {
  name: 'power-losses',
  async start(context, signal) {
    while (await pauseBetween(context, BETWEEN_MS, signal)) {
      const victims = pickVictims(context, ALL_PROBABILITY);
      for (const node of victims) node.losePower();
      await pauseBetween(context, DARK_MS, signal);
      for (const node of victims) node.start();
    }
  },
};
