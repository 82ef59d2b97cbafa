// Runs one test body inside a simulation, on the ports of one node.
import type { SimNode, SimPorts } from './sim-node.js';
import { Simulation, type SimulationOptions } from './simulation.js';

export interface SimulatedBody extends SimPorts {
  /** The simulation: add nodes, cause faults. */
  readonly simulation: Simulation;
  /** The machine that the body runs on. */
  readonly node: SimNode;
}

/** The body's node is called `test`. Throws SimulationFailure, which names the seed. */
export async function runInSimulation<T>(
  seed: number | string,
  body: (world: SimulatedBody) => Promise<T>,
  options: Omit<SimulationOptions, 'seed'> = {},
): Promise<T> {
  const simulation = new Simulation({ ...options, seed });
  return simulation.run(
    () =>
      new Promise((resolve, reject) => {
        const boot = (ports: SimPorts) => {
          body({ ...ports, simulation, node }).then(resolve, reject);
        };
        const node = simulation.addNode('test', boot);
        node.start();
      }),
  );
}
