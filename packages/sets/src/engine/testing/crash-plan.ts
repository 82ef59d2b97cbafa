// Ends a simulated process at one file operation: before or after it, by a kill or a power loss.
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
  /** Decides which unsynced changes survive a power loss. */
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

  /**
   * The same whatever the seed is, so that all runs are identical up to their crash; and slow, so that others write
   * while a checkpoint is written.
   */
  override delayMs(operation: DiskOperation): number {
    return 10 * this.#delays.delayMs(operation);
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

/**
 * Every way to die at one operation: killed before it, killed after it, without power after it. Reading changes
 * nothing, so dying after it is dying before the next operation.
 */
export function* crashPointsAt(
  index: number,
  operation: string,
  lossesCount: number,
): Generator<CrashPoint> {
  yield { how: 'kill', index, moment: 'before', seed: 0 };
  if (operation.startsWith('read ')) return;
  yield { how: 'kill', index, moment: 'after', seed: 0 };
  for (let loss = 0; loss < lossesCount; loss += 1)
    yield { how: 'losePower', index, moment: 'after', seed: index * 1_000 + loss };
}
