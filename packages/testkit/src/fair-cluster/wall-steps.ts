// Wall clocks that are set forth or back by up to three windows, and back again after a while. Seeds follow
// wall time, so instances and the service disagree meanwhile on which structures there are.
import type { Simulation } from '@syncline/kernel/testing';
import { pauseBetween, pickTarget } from '../simulation/faults/fault-pace.js';
import type { Workload } from '../simulation/workload.js';

const BETWEEN_MS = [500, 10_000] as const;
const OFF_MS = [500, 15_000] as const;
const STEP_MS_MAX = 75_000;

const stepped = new WeakSet<Simulation>();

/** Then instances may hold structures that the service has dropped, and views need time to be equal. */
export function hasWallSteps(simulation: Simulation): boolean {
  return stepped.has(simulation);
}

export const wallSteps: Workload = {
  name: 'wall-steps',
  async setup({ simulation }) {
    stepped.add(simulation);
  },
  async start(context, signal) {
    const { random } = context;
    while (await pauseBetween(context, BETWEEN_MS, signal)) {
      const clock = pickTarget(context)?.clock;
      const stepMs = Math.round(STEP_MS_MAX ** random.float()) * (random.float() < 0.5 ? -1 : 1);
      clock?.step(stepMs);
      await pauseBetween(context, OFF_MS, signal);
      clock?.step(-stepMs);
    }
  },
};
