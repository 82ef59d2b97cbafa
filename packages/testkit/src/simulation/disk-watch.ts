// Plans that wrap the plan of a disk: one reports power losses, and one ends the process right after a disk
// operation, before the process gets its result.
import type {
  DiskOperation,
  DiskOperationKind,
  DiskPlan,
  PowerLoss,
  SeededRandom,
  SimNode,
  Verdict,
} from '@syncline/kernel/testing';
import type { Workload } from './workload.js';

class OuterPlan implements DiskPlan {
  readonly #inner: DiskPlan;

  constructor(inner: DiskPlan) {
    this.#inner = inner;
  }

  delayMs(operation: DiskOperation): number {
    return this.#inner.delayMs(operation);
  }

  verdict(operation: DiskOperation): Verdict {
    return this.#inner.verdict(operation);
  }

  done(operation: DiskOperation): void {
    this.#inner.done(operation);
  }

  survivingWrites(count: number): number {
    return this.#inner.survivingWrites(count);
  }

  losePower(): PowerLoss {
    return this.#inner.losePower();
  }
}

/** Calls back at every power loss. */
export class PowerWatch extends OuterPlan {
  readonly #onLost: () => void;

  constructor(inner: DiskPlan, onLost: () => void) {
    super(inner);
    this.#onLost = onLost;
  }

  override losePower(): PowerLoss {
    this.#onLost();
    return super.losePower();
  }
}

/** After these operations, and after every write to a store. */
const CRASH_POINTS: ReadonlySet<DiskOperationKind> = new Set([
  'append',
  'handle-open',
  'handle-truncate',
  'names',
  'sync',
  'sync-names',
]);
/** The probability for each of them. */
const CRASH_PROBABILITY = 0.02;
const POWER_PROBABILITY = 0.6;
const RESTART_MS = 100;

class CrashPlan extends OuterPlan {
  readonly #node: SimNode;
  readonly #random: SeededRandom;
  readonly #end: AbortSignal;
  #hasFailed = false;

  constructor(node: SimNode, random: SeededRandom, end: AbortSignal) {
    super(node.disk.plan);
    this.#node = node;
    this.#random = random;
    this.#end = end;
  }

  override verdict(operation: DiskOperation): Verdict {
    const verdict = super.verdict(operation);
    this.#hasFailed = verdict === 'failed';
    return verdict;
  }

  override done(operation: DiskOperation): void {
    super.done(operation);
    const { kind } = operation;
    if (this.#end.aborted || !(kind.endsWith('-write') || CRASH_POINTS.has(kind))) return;
    if (this.#random.float() >= CRASH_PROBABILITY) return;
    const losesPower = this.#random.float() < POWER_PROBABILITY;
    // After a failed sync the disk may drop data even if only the process ends, and the failure goes unnoticed.
    if (losesPower || this.#hasFailed) this.#node.losePower();
    else this.#node.kill();
  }
}

/** Ends processes between a change on disk and its acknowledgement, which random timing alone would seldom hit. */
export const crashPoints: Workload = {
  name: 'crash-points',
  async start({ simulation, random, targets }, signal) {
    const plans = targets.map((node) => node.disk.plan);
    for (const node of targets)
      node.disk.plan = new CrashPlan(node, random.fork(node.name), signal);
    while (!signal.aborted) {
      await simulation.clock.sleep(RESTART_MS, signal).catch(() => {}); // the signal ends the wait
      for (const node of targets) node.start();
    }
    for (const [index, node] of targets.entries()) node.disk.plan = plans[index] ?? node.disk.plan;
  },
};
