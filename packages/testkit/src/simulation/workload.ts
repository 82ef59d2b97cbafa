// The form of a workload. An honest one uses the code under test and says what must hold; a fault makes
// its life hard. Both have the same form, run side by side and know nothing of each other, so that each
// combination of them is a test.
//
//   setup -> start (all at once, faults included) -> the faults stop, the world calms down -> check
import type { SeededRandom, SimNode, Simulation } from '@syncline/kernel/testing';

export interface WorkloadContext {
  readonly simulation: Simulation;
  /** A stream of its own for each workload. */
  readonly random: SeededRandom;
  /** The machines that faults may hit. An honest workload adds them in `setup`. */
  readonly targets: SimNode[];
}

export interface Workload {
  readonly name: string;
  /** Adds nodes and starts them. */
  setup?(context: WorkloadContext): Promise<void>;
  /** Resolves when the work is done. A fault goes on until the signal fires, then undoes itself. */
  start(context: WorkloadContext, signal: AbortSignal): Promise<void>;
  /** Runs in a calm world. Throws when something does not hold that must. */
  check?(context: WorkloadContext): Promise<void>;
  /** What it did, in numbers: a run that did nothing proves nothing. */
  metrics?(): Readonly<Record<string, number>>;
}

/** What can be run by name: the honest workload, and what is expected of many runs of it. */
export interface WorkloadEntry {
  readonly name: string;
  /** Faults that fit it. Each seed takes a part of them. */
  readonly faults: readonly Workload[];
  /** Bugs that can be planted, one at a time. */
  readonly bugs: readonly string[];
  /** Rare paths that many seeds together must reach. */
  readonly probes: readonly string[];
  /** What takes real time, before a run: within it nothing but simulated time passes. */
  prepare?(bug: string | undefined): Promise<void>;
  /** A new one for each run. */
  create(bug: string | undefined): Workload;
}
