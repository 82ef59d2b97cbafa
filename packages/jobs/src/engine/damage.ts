// What of a job cannot be read. Everything else of it goes on: a damaged row must cost no more than its key.
//
// A cell whose row is damaged is not «not started»: nobody knows what it is, so whoever asks for it, or for an
// aggregate over it, is told. A task whose row is damaged may not be claimed: its epoch would be given twice.
// Where rows are missing nobody can tell whose: then all of the job is in doubt.
import { SynclineError } from '@syncline/kernel';
import type { Scope } from '../state.js';
import type { DamagedRows, JobRows } from './store-adapter.js';

export class JobDamage {
  readonly #cells: DamagedRows['cells'];
  readonly #tasks: ReadonlyMap<number, SynclineError>;
  #whole: SynclineError | undefined;

  constructor(rows: DamagedRows | undefined) {
    this.#cells = rows?.cells ?? [];
    this.#tasks = new Map(rows?.tasks.map(({ taskId, error }) => [taskId, error]));
  }

  /**
   * J3  A job that lacks rows which were acknowledged is `corrupt`: what its rows add up to is in its head. Damaged
   * rows are reported one by one, and are left out of the sums.
   */
  checkSums(
    { row, head }: Pick<JobRows, 'row' | 'head'>,
    found: { readonly versions: number; readonly epochs: number },
  ): void {
    const { versions, epochs } = head.counts;
    if (this.#cells.length > 0 || this.#tasks.size > 0) return;
    if (versions === found.versions && epochs === found.epochs) return;
    this.#whole = new SynclineError(
      'corrupt',
      `job "${row.jobId}" lacks changes that were stored: its rows add up to ${found.versions} versions and ` +
        `${found.epochs} epochs, not to ${versions} and ${epochs}. The disk probably damaged the log of the store. ` +
        'Restore the data directory from a backup, or delete the job.',
      { details: { jobId: row.jobId } },
    );
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
