// Progress folded from the events of one subscription, so that waiting for it leaves no moment between asking
// and listening. It holds one state per key in scope.
import { SynclineError, unreachable } from '@syncline/kernel';
import { JobAggregates } from '../aggregate/job-aggregates.js';
import { progressOf } from '../aggregate/progress-of.js';
import type { JobInfo } from '../job.js';
import type { JobEvent } from '../job-event.js';
import type { Progress } from '../progress.js';
import type { Scope, State } from '../state.js';

export class ProgressFold {
  readonly #scope: Scope;
  readonly #states = new Map<string, State>();
  #job: JobInfo;
  #aggregates: JobAggregates;
  #revision = 0;
  #isSynced = false;
  /** Changes are missing, so what is folded is a mixture that never was, until `live`. */
  #isGapped = false;
  #isLatest = false;
  #isBetween = false;

  constructor(job: JobInfo, scope: Scope) {
    this.#job = job;
    this.#scope = scope;
    this.#aggregates = new JobAggregates(job);
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
        this.#aggregates.setLost(event.lease.taskId, event.lease.state === 'lost');
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
        if (event.reason === 'reset') this.#startAnew();
        else this.#isGapped = true;
        return false;
      case 'stale':
        return false;
      default:
        return unreachable(event);
    }
  }

  progress(): Progress {
    const source = {
      jobId: this.#job.jobId,
      revision: this.#revision,
      stateOf: (taskId: number, tag: string) => this.#states.get(keyOf(taskId, tag)),
    };
    return progressOf(source, this.#aggregates.summary(this.#scope));
  }

  get #isWhole(): boolean {
    return this.#isSynced && !this.#isGapped;
  }

  #setState(state: State): void {
    this.#states.set(keyOf(state.taskId, state.tag), state);
    this.#aggregates.set(state.taskId, state.tag, state.status);
    this.#rise(state.revision);
  }

  #setJob(job: JobInfo): void {
    const isOther = job.numTasks !== this.#job.numTasks; // deleted and created again
    this.#job = job;
    if (isOther) this.#countAnew();
    else this.#aggregates.setExpectedTags(job.expectedTags);
    this.#rise(job.revision);
  }

  #countAnew(): void {
    const { lostTasks } = this.#aggregates;
    this.#aggregates = new JobAggregates(this.#job);
    for (const taskId of lostTasks) this.#aggregates.setLost(taskId, true);
    for (const { taskId, tag, status } of this.#states.values()) {
      this.#aggregates.set(taskId, tag, status);
    }
  }

  /** True: there was one, and the progress is whole again. Inside a replay `live` ends none. */
  #endGap(): boolean {
    if (!this.#isSynced || !this.#isGapped) return false;
    this.#isGapped = false;
    return true;
  }

  #startAnew(): void {
    this.#isSynced = false;
    this.#isGapped = false;
    this.#revision = 0;
    this.#states.clear();
    this.#aggregates = new JobAggregates(this.#job);
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
