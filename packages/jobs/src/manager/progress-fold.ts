// Progress folded from the events of one subscription, so that waiting for it leaves no moment between asking
// and listening. It holds one state per key in scope.
import { SynclineError, unreachable } from '@syncline/kernel';
import type { Cell } from '../engine/best-cell.js';
import { JobCells } from '../engine/job-cells.js';
import { progressOf } from '../engine/progress-of.js';
import type { JobInfo } from '../job.js';
import type { JobEvent } from '../job-event.js';
import type { Progress } from '../progress.js';
import { defaultState, type Scope, type State, withoutPayload } from '../state.js';

export class ProgressFold {
  readonly #scope: Scope;
  readonly #states = new Map<string, State>();
  #job: JobInfo;
  #cells: JobCells;
  #revision = 0;
  #isSynced = false;
  /** Changes are missing, so what is folded is a mixture that never was, until `live`. */
  #isGapped = false;
  #isLatest = false;
  #isBetween = false;

  constructor(job: JobInfo, scope: Scope) {
    this.#job = job;
    this.#scope = scope;
    this.#cells = new JobCells(job);
  }

  /**
   * With history `latest` a change may come without an earlier one that was overwritten: until the next marker what
   * is folded may be a mixture that never was, and only the store can tell.
   */
  get mayBeMixture(): boolean {
    return this.#isLatest && this.#isBetween;
  }

  /** True: the progress is whole and may have changed. Throws `not-found` once the job is deleted. */
  take(event: JobEvent): boolean {
    this.#isBetween = event.kind !== 'synced' && event.kind !== 'live';
    switch (event.kind) {
      case 'snapshot':
      case 'change':
        this.#setState(event.state);
        return this.#isWhole;
      case 'lease':
        this.#cells.setLost(event.lease.taskId, event.lease.state === 'lost');
        this.#rise(event.lease.revision);
        return this.#isWhole;
      case 'job':
        this.#setJob(event.job);
        return this.#isWhole;
      case 'synced':
        this.#isSynced = true;
        this.#isLatest = event.history === 'latest';
        this.#rise(event.revision);
        return this.#isWhole;
      case 'live':
        this.#rise(event.revision);
        return this.#endGap();
      case 'gap':
        if (event.reason === 'deleted') throw this.#deletedError();
        if (event.reason === 'reset') this.#restart();
        else this.#isGapped = true;
        return false;
      case 'stale':
        return false;
      default:
        return unreachable(event);
    }
  }

  progress(): Progress {
    const { jobId } = this.#job;
    const stateOf = ({ taskId, tag }: Cell) =>
      this.#states.get(keyOf(taskId, tag)) ?? defaultState(jobId, taskId, tag);
    const all = this.#cells.recount().all(this.#job);
    const source = { revision: this.#revision, stateOf, withoutPayload };
    return progressOf(source, this.#cells.summary(this.#scope, all));
  }

  get #isWhole(): boolean {
    return this.#isSynced && !this.#isGapped;
  }

  #setState(state: State): void {
    this.#states.set(keyOf(state.taskId, state.tag), state);
    this.#cells.set(state, state.status, state.progress);
    this.#rise(state.revision);
  }

  #setJob(job: JobInfo): void {
    const isOther = job.numTasks !== this.#job.numTasks; // deleted and created again
    this.#job = job;
    if (isOther) this.#recount();
    else this.#cells.setExpectedTags(job.expectedTags);
    this.#rise(job.revision);
  }

  #recount(): void {
    const { lostTasks } = this.#cells;
    this.#cells = new JobCells(this.#job);
    for (const taskId of lostTasks) this.#cells.setLost(taskId, true);
    for (const state of this.#states.values()) this.#cells.set(state, state.status, state.progress);
  }

  /** True: there was one, and the progress is whole again. Inside a replay `live` ends none. */
  #endGap(): boolean {
    if (!this.#isSynced || !this.#isGapped) return false;
    this.#isGapped = false;
    return true;
  }

  #restart(): void {
    this.#isSynced = false;
    this.#isGapped = false;
    this.#revision = 0;
    this.#states.clear();
    this.#cells = new JobCells(this.#job);
  }

  #rise(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
  }

  #deletedError(): SynclineError {
    const { jobId } = this.#job;
    return new SynclineError('not-found', `job "${jobId}" was deleted while it was waited for`, {
      details: { jobId },
    });
  }
}

function keyOf(taskId: number, tag: string): string {
  return `${taskId} ${tag}`;
}
