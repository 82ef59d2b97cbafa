// What one process has of its machine's disk: operations that take time, may fail, and are noted.
//
// The plan is asked at the moment an operation takes effect and told once it has. If it ends the
// process at either point, the process never hears of the operation, as with a real crash.
import type { ProcessLife } from '../process-life.js';
import type { Scheduler } from '../scheduler.js';
import type { DiskOperationKind, DiskPlan } from './disk-plan.js';

export type Verdict = 'ok' | 'full' | 'failed';

/** Counts the operations of one disk, over all processes that it outlives. */
export interface OperationCounter {
  count: number;
}

export interface DiskAccessDeps {
  readonly scheduler: Scheduler;
  readonly life: ProcessLife;
  readonly plan: () => DiskPlan;
  readonly counter: OperationCounter;
}

export class DiskAccess {
  readonly life: ProcessLife;
  readonly #scheduler: Scheduler;
  readonly #plan: () => DiskPlan;
  readonly #counter: OperationCounter;

  constructor(deps: DiskAccessDeps) {
    this.life = deps.life;
    this.#scheduler = deps.scheduler;
    this.#plan = deps.plan;
    this.#counter = deps.counter;
  }

  get nowMs(): number {
    return this.#scheduler.nowMs;
  }

  note(kind: string, subject: string, detail: number): void {
    this.#scheduler.note(kind, `${this.life.nodeName}/${subject}`, detail);
  }

  /** `effect` runs when the operation reaches the disk. What it returns or throws goes to the caller. */
  perform<T>(
    kind: DiskOperationKind,
    subject: string,
    effect: (verdict: Verdict) => T,
  ): Promise<T> {
    if (this.life.isDead) return this.life.never();
    const plan = this.#plan();
    this.#counter.count += 1;
    const operation = { index: this.#counter.count, kind, subject };
    return new Promise<T>((resolve, reject) => {
      const run = () => {
        const verdict = plan.verdict(operation);
        if (this.life.isDead) return;
        const tell = attempt(() => effect(verdict), resolve, reject);
        plan.done(operation);
        if (!this.life.isDead) tell();
      };
      const owner = this.life;
      const place = `${owner.nodeName}/${subject}`;
      this.#scheduler.after(plan.delayMs(operation), { kind, subject: place, owner, run });
    });
  }
}

/** Runs `effect` now and returns how to tell its result. */
function attempt<T>(
  effect: () => T,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): () => void {
  try {
    const result = effect();
    return () => resolve(result);
  } catch (error) {
    return () => reject(error);
  }
}
