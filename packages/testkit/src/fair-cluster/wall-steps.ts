// Wall clocks that are stepped by up to three windows, and back again after a while. Seeds follow wall time, so
// instances and the service temporarily disagree on which structures exist.
//
// A service whose clock is ahead evicts structures that its clients still use, and their outcomes with them;
// an instance whose clock is off reports into structures that the service refuses. That is the contract (F11),
// so checks of single outcomes end for those machines, at their first step and not before.
import type { Simulation } from '@syncline/kernel/testing';
import { pauseBetween, pickTarget } from '../simulation/faults/fault-pace.js';
import type { Workload } from '../simulation/workload.js';

const BETWEEN_MS = [500, 10_000] as const;
const OFF_MS = [500, 15_000] as const;
const STEP_MS_MAX = 75_000;

/** The machines whose clock was set, in runs that have this fault. */
const stepped = new WeakMap<Simulation, Set<string>>();

/** If so, instances may hold structures that the service has dropped, and views need time to become equal. */
export function hasWallSteps(simulation: Simulation): boolean {
  return stepped.has(simulation);
}

/** Whether any of these clocks has been set so far. */
export function wasAnyStepped(simulation: Simulation, nodes: readonly string[]): boolean {
  const machines = stepped.get(simulation);
  return machines !== undefined && nodes.some((node) => machines.has(node));
}

export const wallSteps: Workload = {
  name: 'wall-steps',
  async setup({ simulation }) {
    stepped.set(simulation, new Set());
  },
  async start(context, signal) {
    const { random, simulation } = context;
    while (await pauseBetween(context, BETWEEN_MS, signal)) {
      const target = pickTarget(context);
      if (target === undefined) continue;
      const { clock, name } = target;
      stepped.get(simulation)?.add(name);
      const stepMs = Math.round(STEP_MS_MAX ** random.float()) * (random.float() < 0.5 ? -1 : 1);
      clock.step(stepMs);
      await pauseBetween(context, OFF_MS, signal);
      clock.step(-stepMs);
    }
  },
};
