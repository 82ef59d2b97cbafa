// The progress of a job out of its events, kept with each of them.
//
// What it tells is what the stream has delivered, no less and no more: the table never runs ahead of it, and an
// event costs one update of the aggregates, however many cells there are.
import {
  defaultState,
  JobCells,
  type JobEvent,
  type JobInfo,
  type Progress,
  progressOf,
  type Scope,
  type State,
  type TaskLease,
  withoutPayload,
} from '@syncline/jobs';
import { unreachable } from '@syncline/kernel';

export class JobFold {
  readonly #scope: Scope;
  /** By tag and task. */
  readonly #states = new Map<string, Map<number, State>>();
  readonly #lost = new Map<number, TaskLease>();
  #job: JobInfo;
  #cells: JobCells;
  #isSynced = false;
  /** Changes were left out: until `live` the fold mixes old states with new ones. */
  #isGapped = false;
  #revision = 0;
  #seededTo = 0;
  #statesCount = 0;

  /** What is known of the job besides its states may come from elsewhere: `numTasks` never changes. */
  constructor(job: JobInfo, scope: Scope) {
    this.#scope = scope;
    this.#job = job;
    this.#cells = new JobCells(job);
  }

  get job(): JobInfo {
    return this.#job;
  }

  /** Leases that are lost, by task. */
  get lost(): readonly TaskLease[] {
    return [...this.#lost.values()].sort((one, other) => one.taskId - other.taskId);
  }

  /** False inside a replay, after a gap, and until the stream has delivered what the fold was seeded with. */
  get isWhole(): boolean {
    return this.#isSynced && !this.#isGapped && this.#revision >= this.#seededTo;
  }

  get statesCount(): number {
    return this.#statesCount;
  }

  /** All up to here has been delivered. */
  get revision(): number {
    return this.#revision;
  }

  progress(): Progress {
    const { jobId } = this.#job;
    const source = {
      revision: this.#revision,
      stateOf: ({ taskId, tag }: Pick<State, 'taskId' | 'tag'>) =>
        this.#states.get(tag)?.get(taskId) ?? defaultState(jobId, taskId, tag),
      withoutPayload,
    };
    const all = this.#cells.recount().all(this.#job);
    return progressOf(source, this.#cells.summary(this.#scope, all));
  }

  /** What was there before the events of a resumed stream, read elsewhere and up to a revision. */
  seed(states: readonly State[], revision: number): void {
    for (const state of states) this.#setState(state);
    this.#seededTo = Math.max(this.#seededTo, revision);
  }

  /** Those lost before the events of a resumed stream. */
  seedLost(leases: readonly TaskLease[]): void {
    for (const lease of leases) this.#setLease(lease);
  }

  apply(event: JobEvent): void {
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
        this.#setJob(event.job);
        this.#reach(event.job.revision);
        break;
      case 'synced':
        this.#isSynced = true;
        this.#reach(event.revision);
        break;
      case 'live':
        this.#isGapped = false;
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
    const { taskId, tag, revision } = state;
    const ofTag = this.#states.get(tag) ?? new Map<number, State>();
    this.#states.set(tag, ofTag);
    const known = ofTag.get(taskId);
    if (known === undefined) this.#statesCount += 1;
    else if (known.revision >= revision) return; // read before the events that led to it came
    ofTag.set(taskId, state);
    this.#count(state);
  }

  #setLease(lease: TaskLease): void {
    const isLost = lease.state === 'lost';
    if (isLost) this.#lost.set(lease.taskId, lease);
    else this.#lost.delete(lease.taskId);
    this.#cells.setLost(lease.taskId, isLost);
  }

  /** Another job under the same name may have more tasks, and states that came before this event count again. */
  #setJob(job: JobInfo): void {
    const isAnother = job.numTasks !== this.#job.numTasks;
    this.#job = job;
    if (isAnother) this.#aggregate();
    else this.#cells.setExpectedTags(job.expectedTags);
  }

  #aggregate(): void {
    this.#cells = new JobCells(this.#job);
    for (const ofTag of this.#states.values()) {
      for (const state of ofTag.values()) this.#count(state);
    }
    for (const taskId of this.#lost.keys()) this.#cells.setLost(taskId, true);
  }

  #count(state: State): void {
    const { taskId, status, progress } = state;
    if (taskId < this.#job.numTasks) this.#cells.set(state, status, progress);
  }

  #clear(): void {
    this.#states.clear();
    this.#lost.clear();
    this.#statesCount = 0;
    this.#revision = 0;
    this.#isSynced = false;
    this.#isGapped = false;
    this.#seededTo = 0;
    this.#aggregate();
  }

  #reach(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
  }
}
