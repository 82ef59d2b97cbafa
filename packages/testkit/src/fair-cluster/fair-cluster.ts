// What the processes of one run share: the plan and the state of the checks. It belongs to the simulation and not to
// a process, so it survives crashes.
import type { Simulation } from '@syncline/kernel/testing';
import { EachChangeOnce } from './checks/each-change-once.js';
import { OutcomesCountOnce } from './checks/outcomes-count-once.js';
import type { FairPlan } from './fair-plan.js';
import { FlowCells } from './flow-cells.js';
import type { PlantedFairBug } from './planted-bug.js';

export const SERVICE_NODE = 'service';
export const SERVICE_PORT = 7401;

export class FairCluster {
  readonly simulation: Simulation;
  readonly plan: FairPlan;
  readonly bug: PlantedFairBug | undefined;
  readonly changes = new EachChangeOnce();
  readonly flowCells = new FlowCells();
  readonly outcomes = new OutcomesCountOnce();
  /** Clients report outcomes until then. */
  isLoading = true;
  /** The last change that a service received from each client, to be delivered again late. */
  readonly lastDeltas = new Map<string, Uint8Array>();

  constructor(simulation: Simulation, plan: FairPlan, bug: PlantedFairBug | undefined) {
    this.simulation = simulation;
    this.plan = plan;
    this.bug = bug;
  }

  readonly simulatedMs = (): number => this.simulation.nowMs;
}
