// The progress of a job, folded from the events of one subscription. Unlike reading the progress and then subscribing,
// this can miss no change in between.
import { unreachable } from '@syncline/kernel';
import { cellName, progressOf } from '../engine/cell-counts.js';
import { JobCells } from '../engine/job-cells.js';
import type { JobInfo, Progress, TaskLease } from '../job.js';
import { defaultState, type Scope, type State } from '../job.js';
import type { JobEvent } from '../job-store.js';

export class JobFold {
  readonly #scope: Scope;
  /** By `cellName`. */
  readonly #states = new Map<string, State>();
  readonly #lost = new Map<number, TaskLease>();
  #job: JobInfo;
  #cells: JobCells;
  #isSynced = false;
  /** Changes were skipped: until `live`, the fold mixes old states with new ones. */
  #isGapped = false;
  #isLatest = false;
  #isBetween = false;
  #revision = 0;
  #seededTo = 0;

  /** `job` may come from a separate read: `numTasks` never changes. */
  constructor(job: JobInfo, scope: Scope) {
    this.#scope = scope;
    this.#job = job;
    this.#cells = new JobCells(job);
  }

  get job(): JobInfo {
    return this.#job;
  }

  /** Lost leases, ordered by task. */
  get lost(): readonly TaskLease[] {
    return [...this.#lost.values()].sort((one, other) => one.taskId - other.taskId);
  }

  /** False during a replay, after a gap, and until the stream has caught up with the seed. */
  get isWhole(): boolean {
    return this.#isSynced && !this.#isGapped && this.#revision >= this.#seededTo;
  }

  /**
   * With history `latest`, a change may arrive without an earlier one that was overwritten. Until the next marker, the
   * fold may be a combination of states that never existed; only the store can tell.
   */
  get mayBeMixture(): boolean {
    return this.#isLatest && this.#isBetween;
  }

  get statesCount(): number {
    return this.#states.size;
  }

  progress(): Progress {
    const { jobId } = this.#job;
    const stateOf = ({ taskId, tag }: Required<Scope>): State =>
      this.#states.get(cellName(taskId, tag)) ?? defaultState(jobId, taskId, tag);
    return progressOf(this.#revision, this.#cells.summary(this.#scope), stateOf);
  }

  /** Adds the states from before a resumed stream, read separately, up to `revision`. */
  seed(states: readonly State[], revision: number): void {
    for (const state of states) this.#setState(state);
    this.#seededTo = Math.max(this.#seededTo, revision);
  }

  /** Adds leases that were lost before a resumed stream. */
  seedLost(leases: readonly TaskLease[]): void {
    for (const lease of leases) this.#setLease(lease);
  }

  apply(event: JobEvent): void {
    this.#isBetween = event.kind !== 'synced' && event.kind !== 'live';
    switch (event.kind) {
      case 'snapshot':
      case 'change':
        this.#setState(event.state);
        this.#reach(event.state.revision);
        break;
      case 'lease':
        this.#setLease(event.lease);
        this.#reach(event.lease.revision);
        break;
      case 'job':
        this.#job = event.job;
        this.#countAll(); // the expected tags may have changed; a recreated job may also have more tasks
        this.#reach(event.job.revision);
        break;
      case 'synced':
        this.#isSynced = true;
        this.#isLatest = event.history === 'latest';
        this.#reach(event.revision);
        break;
      case 'live':
        if (this.#isSynced) this.#isGapped = false;
        this.#reach(event.revision);
        break;
      case 'gap':
        if (event.reason === 'reset') this.#clear();
        else this.#isGapped = true;
        break;
      case 'stale':
        break;
      default:
        unreachable(event);
    }
  }

  #setState(state: State): void {
    const name = cellName(state.taskId, state.tag);
    if ((this.#states.get(name)?.revision ?? 0) >= state.revision) return; // already seeded
    this.#states.set(name, state);
    this.#count(state);
  }

  #setLease(lease: TaskLease): void {
    const isLost = lease.state === 'lost';
    if (isLost) this.#lost.set(lease.taskId, lease);
    else this.#lost.delete(lease.taskId);
    this.#cells.setLost(lease.taskId, isLost);
  }

  #countAll(): void {
    this.#cells = new JobCells(this.#job);
    for (const state of this.#states.values()) this.#count(state);
    for (const taskId of this.#lost.keys()) this.#cells.setLost(taskId, true);
  }

  #count(state: State): void {
    const { taskId, status, progress } = state;
    if (taskId < this.#job.numTasks) this.#cells.set(state, status, progress);
  }

  #clear(): void {
    this.#states.clear();
    this.#lost.clear();
    this.#revision = 0;
    this.#isSynced = false;
    this.#isGapped = false;
    this.#seededTo = 0;
    this.#countAll();
  }

  #reach(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
  }
}
