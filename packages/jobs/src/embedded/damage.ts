// What of a job cannot be read. Everything else of it goes on: a damaged row must cost no more than its key.
//
// A cell whose row is damaged is not «not started»: nobody knows what it is, so whoever asks for it, or for an
// aggregate over it, is told. A task whose row is damaged may not be claimed: its epoch would be given twice.
// Where rows are missing nobody can tell whose: then all of the job is in doubt.
import type { SynclineError } from '@syncline/kernel';
import type { Scope } from '../state.js';

interface DamagedCell {
  readonly taskId: number;
  /** Undefined: the name of its tag is damaged too. */
  readonly tag: string | undefined;
  readonly error: SynclineError;
}

export class JobDamage {
  readonly #cells: DamagedCell[] = [];
  readonly #tasks = new Map<number, SynclineError>();
  #whole: SynclineError | undefined;

  addCell(cell: DamagedCell): void {
    this.#cells.push(cell);
  }

  addTask(taskId: number, error: SynclineError): void {
    this.#tasks.set(taskId, error);
  }

  setWhole(error: SynclineError): void {
    this.#whole = error;
  }

  get hasDamagedRows(): boolean {
    return this.#cells.length > 0 || this.#tasks.size > 0;
  }

  /** Throws `corrupt` if rows of the job are missing. */
  checkWhole(): void {
    if (this.#whole) throw this.#whole;
  }

  /** Throws `corrupt` if the scope holds a damaged cell. */
  checkScope(scope: Scope): void {
    this.checkWhole();
    for (const { taskId, tag, error } of this.#cells) {
      const isTask = scope.taskId === undefined || scope.taskId === taskId;
      if (isTask && (scope.tag === undefined || tag === undefined || scope.tag === tag))
        throw error;
    }
  }

  /** Throws `corrupt` if the task's row is damaged. */
  checkTask(taskId: number): void {
    this.checkWhole();
    const error = this.#tasks.get(taskId);
    if (error) throw error;
  }
}
