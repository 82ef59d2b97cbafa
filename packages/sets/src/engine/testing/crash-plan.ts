// Ends a simulated process at one file operation: before it or after it, by a kill or a loss of power.
import {
  createSeededRandom,
  type DiskOperation,
  SeededDiskPlan,
  type SimNode,
  type Verdict,
} from '@syncline/kernel/testing';

export interface CrashPoint {
  readonly how: 'kill' | 'losePower';
  /** Number of the operation since the plan was set, from 1. */
  readonly index: number;
  readonly moment: 'before' | 'after';
  /** Decides which unsynced changes survive a loss of power. */
  readonly seed: number;
}

/** Without a point it only counts. */
export class CrashPlan extends SeededDiskPlan {
  /** Kind and path of each operation, in order. */
  readonly operations: string[] = [];
  /** Resolves when the process has ended at the point. */
  readonly crashed: Promise<void>;
  #onCrash = () => {};
  readonly #node: SimNode;
  readonly #point: CrashPoint | undefined;
  readonly #delays = new SeededDiskPlan(createSeededRandom('delays'));
  #isOver = false;

  constructor(node: SimNode, point?: CrashPoint) {
    super(createSeededRandom(point?.seed ?? 0));
    this.#node = node;
    this.#point = point;
    this.crashed = new Promise((resolve) => {
      this.#onCrash = resolve;
    });
  }

  /** The same whatever the seed is, so that all runs are alike up to their crash. */
  override delayMs(operation: DiskOperation): number {
    return this.#delays.delayMs(operation);
  }

  override verdict(operation: DiskOperation): Verdict {
    if (!this.#isOver) {
      this.operations.push(`${operation.kind} ${operation.subject}`);
      this.#crashIfAt('before');
    }
    return super.verdict(operation);
  }

  override done(): void {
    this.#crashIfAt('after');
  }

  #crashIfAt(moment: 'before' | 'after'): void {
    const point = this.#point;
    if (this.#isOver || point?.index !== this.operations.length || point.moment !== moment) return;
    this.#isOver = true;
    this.#node[point.how]();
    this.#onCrash();
  }
}

/** Every way to die at one operation: killed or without power, before or after it. */
export function* crashPointsAt(index: number, seeds: number): Generator<CrashPoint> {
  for (const moment of ['before', 'after'] as const) {
    yield { how: 'kill', index, moment, seed: 0 };
    for (let seed = 1; seed <= seeds; seed += 1) yield { how: 'losePower', index, moment, seed };
  }
}
