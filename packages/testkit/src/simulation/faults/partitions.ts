// Cuts machines off from each other: one from all, or one link, in one direction or both. Connections
// stay open and silent.
import type { Workload, WorkloadContext } from '../workload.js';
import { pauseBetween, pickTarget } from './fault-pace.js';

const BETWEEN_MS = [200, 8_000] as const;
const CUT_MS = [50, 15_000] as const;

export const partitions: Workload = {
  name: 'partitions',
  async start(context, signal) {
    while (await pauseBetween(context, BETWEEN_MS, signal)) {
      const heal = cutSomething(context);
      await pauseBetween(context, CUT_MS, signal);
      heal();
    }
  },
};

function cutSomething(context: WorkloadContext): () => void {
  const { simulation, random } = context;
  const victim = pickTarget(context)?.name ?? '';
  const others = simulation.nodes.map((node) => node.name).filter((name) => name !== victim);
  const other = others[Math.floor(random.float() * others.length)] ?? '';
  const group = random.float() < 0.5 ? others : [other];
  const direction = Math.floor(random.float() * 3);
  const { network } = simulation;
  if (direction !== 1) network.block([victim], group);
  if (direction !== 0) network.block(group, [victim]);
  return () => {
    network.unblock([victim], group);
    network.unblock(group, [victim]);
  };
}
