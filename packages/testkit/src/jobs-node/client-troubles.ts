// Faults on the machines of clients: they are killed and restarted, and they are paused and come back as zombies
// whose task another process has taken over.
import { pauseBetween } from '../simulation/faults/fault-pace.js';
import type { Workload } from '../simulation/workload.js';

const BETWEEN_MS = [100, 3_000] as const;
const AWAY_MS = [10, 4_000] as const;
const PAUSE_PROBABILITY = 0.6;

export const clientTroubles: Workload = {
  name: 'client-troubles',
  async start(context, signal) {
    const { simulation, random, targets } = context;
    const clients = simulation.nodes.filter((node) => !targets.includes(node));
    while (await pauseBetween(context, BETWEEN_MS, signal)) {
      const victim = clients[Math.floor(random.float() * clients.length)];
      if (random.float() < PAUSE_PROBABILITY) victim?.pause();
      else victim?.kill();
      await pauseBetween(context, AWAY_MS, signal);
      victim?.resume();
      victim?.start();
    }
  },
};
