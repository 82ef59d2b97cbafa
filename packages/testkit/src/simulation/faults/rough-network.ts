// A bad network: slow, with a long tail, chunks cut small, refused connections, and resets in the
// middle of a frame.
import { calmLink, roughLink } from '@syncline/kernel/testing';
import type { Workload } from '../workload.js';
import { pauseBetween } from './fault-pace.js';

const CHANGE_MS = [500, 10_000] as const;
const RESET_PROBABILITY = 0.3;

export const roughNetwork: Workload = {
  name: 'rough-network',
  async start(context, signal) {
    const { simulation, random } = context;
    do {
      simulation.network.adjust({
        ...roughLink,
        resetProbability: roughLink.resetProbability * 3 * random.float(),
        tailProbability: roughLink.tailProbability * 2 * random.float(),
        cutProbability: random.float(),
      });
      if (random.float() < RESET_PROBABILITY) {
        simulation.network.resetConnections(() => random.float() < 0.5);
      }
    } while (await pauseBetween(context, CHANGE_MS, signal));
    simulation.network.adjust(calmLink);
  },
};
