// The disk as one process sees it: operations that take time, may fail, and are recorded in the trace.
//
// The plan is consulted when an operation is about to take effect and called again once it has. If it ends the
// process at either point, the process never learns the result, as with a real crash: an asynchronous
// operation does not settle, a synchronous one throws ProcessEnded.
import { ProcessEnded, type ProcessLife } from '../process-life.js';
import type { Scheduler } from '../scheduler.js';
import type { DiskOperation, DiskOperationKind, DiskPlan, Verdict } from './disk-plan.js';

/** Counts the operations of one disk, across all processes that use it. */
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
    const operation = this.#nextOperation(kind, subject);
    return new Promise<T>((resolve, reject) => {
      const run = () => {
        const verdict = plan.verdict(operation);
        if (this.life.isDead) return;
        const settle = attempt(() => effect(verdict), resolve, reject);
        plan.done(operation);
        if (!this.life.isDead) settle();
      };
      const owner = this.life;
      const place = `${owner.nodeName}/${subject}`;
      this.#scheduler.after(plan.delayMs(operation), { kind, subject: place, owner, run });
    });
  }

  /** A synchronous operation: it takes effect at once and takes no simulated time. */
  performNow<T>(kind: DiskOperationKind, subject: string, effect: (verdict: Verdict) => T): T {
    const { life } = this;
    if (life.isDead) throw new ProcessEnded(life);
    const plan = this.#plan();
    const operation = this.#nextOperation(kind, subject);
    this.note(kind, subject, operation.index);
    const verdict = plan.verdict(operation);
    if (life.isDead) throw new ProcessEnded(life);
    const settle = attempt<T, T>(() => effect(verdict), returnValue, throwError);
    plan.done(operation);
    if (life.isDead) throw new ProcessEnded(life);
    return settle();
  }

  #nextOperation(kind: DiskOperationKind, subject: string): DiskOperation {
    this.#counter.count += 1;
    return { index: this.#counter.count, kind, subject };
  }
}

/** Runs `effect` now and returns a function that returns its result. */
function attempt<T, R>(
  effect: () => T,
  resolve: (value: T) => R,
  reject: (error: unknown) => R,
): () => R {
  try {
    const result = effect();
    return () => resolve(result);
  } catch (error) {
    return () => reject(error);
  }
}

function returnValue<T>(value: T): T {
  return value;
}

function throwError(error: unknown): never {
  throw error;
}
