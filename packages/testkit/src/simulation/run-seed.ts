// Runs one workload under one seed, with the faults that the seed picks.
//
// Each fault is on in half of the runs. So some runs have a single fault, in which its bugs are not
// hidden by others, and some have all of them at once.
import { setMaxListeners } from 'node:events';
import { Simulation, SimulationFailure, type SimulationOptions } from '@syncline/kernel/testing';
import type { Workload, WorkloadContext, WorkloadEntry } from './workload.js';

export interface SeedOptions {
  readonly seed: number;
  /** A bug to plant, by name. */
  readonly bug?: string | undefined;
  readonly onTrace?: SimulationOptions['onTrace'] | undefined;
}

export interface SeedResult {
  readonly seed: number;
  readonly failure: SimulationFailure | undefined;
  readonly faults: readonly string[];
  readonly traceHash: string;
  /** The last lines of the trace. */
  readonly traceTail: readonly string[];
  readonly events: number;
  readonly simulatedMs: number;
  readonly probes: ReadonlyMap<string, number>;
  readonly metrics: Readonly<Record<string, number>>;
}

const FAULT_PROBABILITY = 0.5;

export async function runSeed(entry: WorkloadEntry, options: SeedOptions): Promise<SeedResult> {
  const { seed, onTrace } = options;
  await entry.prepare?.(options.bug);
  const simulation = new Simulation({ seed, ...(onTrace && { onTrace }) });
  const swarm = simulation.random.fork('swarm');
  const faults = entry.faults.filter(() => swarm.float() < FAULT_PROBABILITY);
  const honest = entry.create(options.bug);
  const failure = await simulation
    .run(() => runWorkloads(simulation, honest, faults))
    .then(() => undefined, toFailure);
  return {
    seed,
    failure,
    faults: faults.map((fault) => fault.name),
    traceHash: simulation.trace.hash(),
    traceTail: simulation.trace.tail(),
    events: simulation.eventsCount,
    simulatedMs: simulation.nowMs,
    probes: simulation.chaos.probes,
    metrics: honest.metrics?.() ?? {},
  };
}

async function runWorkloads(
  simulation: Simulation,
  honest: Workload,
  faults: readonly Workload[],
): Promise<void> {
  const targets: WorkloadContext['targets'] = [];
  const contextOf = (workload: Workload): WorkloadContext => ({
    simulation,
    random: simulation.random.fork(`workload/${workload.name}`),
    targets,
  });
  const running = [honest, ...faults].map((workload) => ({
    workload,
    context: contextOf(workload),
  }));
  for (const { workload, context } of running) await workload.setup?.(context);

  const faultsEnd = new AbortController();
  setMaxListeners(0, faultsEnd.signal); // every fault waits until this fires
  const started = running.map(({ workload, context }) => workload.start(context, faultsEnd.signal));
  await started[0];
  faultsEnd.abort();
  await Promise.all(started);

  simulation.calm();
  for (const { workload, context } of running) await workload.check?.(context);
}

function toFailure(error: unknown): SimulationFailure {
  if (error instanceof SimulationFailure) return error;
  throw error;
}
