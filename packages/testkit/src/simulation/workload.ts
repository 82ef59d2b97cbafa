// The interface of a workload. An honest workload uses the code under test and defines what must hold; a fault
// disturbs it. Both have the same interface, run side by side and are independent of each other, so that each
// combination of them is a test.
//
//   setup -> start (all at once, faults included) -> the faults stop and everything recovers -> check
import type { SeededRandom, SimNode, Simulation } from '@syncline/kernel/testing';

export interface WorkloadContext {
  readonly simulation: Simulation;
  /** A separate random stream for each workload. */
  readonly random: SeededRandom;
  /** The machines that faults may hit. An honest workload adds them in `setup`. */
  readonly targets: SimNode[];
}

export interface Workload {
  readonly name: string;
  /** Adds nodes and starts them. */
  setup?(context: WorkloadContext): Promise<void>;
  /** Resolves when the work is done. A fault continues until the signal fires, then undoes itself. */
  start(context: WorkloadContext, signal: AbortSignal): Promise<void>;
  /** Runs without faults. Throws if something that must hold does not. */
  check?(context: WorkloadContext): Promise<void>;
  /** What it did, in numbers: a run that did nothing proves nothing. */
  metrics?(): Readonly<Record<string, number>>;
}

/** A workload that can be run by name, and what is expected of many runs of it. */
export interface WorkloadEntry {
  readonly name: string;
  /** Faults that it can be combined with. Each seed picks some of them. */
  readonly faults: readonly Workload[];
  /** Bugs that can be planted, one at a time. */
  readonly bugs: readonly string[];
  /** Rare paths that many seeds together must reach. */
  readonly probes: readonly string[];
  /** Preparation that takes real time, before a run: during a run only simulated time passes. */
  prepare?(bug: string | undefined): Promise<void>;
  /** A new one for each run. */
  create(bug: string | undefined): Workload;
}
