// The progress of a job out of its events, kept with each of them.
//
// What it tells is what the stream has delivered, no less and no more: the table never runs ahead of it, and an
// event costs one update of the aggregates, however many cells there are.
import {
  JobAggregates,
  type JobEvent,
  type JobInfo,
  type Progress,
  progressOf,
  type Scope,
  type State,
  type TaskLease,
} from '@syncline/jobs';
import { unreachable } from '@syncline/kernel';

export class JobFold {
  readonly #scope: Scope;
  /** By tag and task. */
  readonly #states = new Map<string, Map<number, State>>();
  readonly #lost = new Map<number, TaskLease>();
  #job: JobInfo;
  #aggregates: JobAggregates;
  #isSynced = false;
  #revision = 0;
  #seededTo = 0;
  #statesCount = 0;

  /** What is known of the job besides its states may come from elsewhere: `numTasks` never changes. */
  constructor(job: JobInfo, scope: Scope) {
    this.#scope = scope;
    this.#job = job;
    this.#aggregates = new JobAggregates(job);
  }

  get job(): JobInfo {
    return this.#job;
  }

  /** Leases that are lost, by task. */
  get lost(): readonly TaskLease[] {
    return [...this.#lost.values()].sort((one, other) => one.taskId - other.taskId);
  }

  /** False inside a replay, and until the stream has delivered what the fold was seeded with. */
  get isWhole(): boolean {
    return this.#isSynced && this.#revision >= this.#seededTo;
  }

  get statesCount(): number {
    return this.#statesCount;
  }

  /** All up to here has been delivered. */
  get revision(): number {
    return this.#revision;
  }

  progress(): Progress {
    const source = {
      jobId: this.#job.jobId,
      revision: this.#revision,
      stateOf: (taskId: number, tag: string) => this.#states.get(tag)?.get(taskId),
    };
    return progressOf(source, this.#aggregates.summary(this.#scope));
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
        this.#reach(event.revision);
        break;
      case 'gap':
        if (event.reason === 'reset') this.#clear();
        break;
      case 'stale':
        break;
      default:
        unreachable(event);
    }
  }

  #setState(state: State): void {
    const { taskId, tag, status, revision } = state;
    const ofTag = this.#states.get(tag) ?? new Map<number, State>();
    this.#states.set(tag, ofTag);
    const known = ofTag.get(taskId);
    if (known === undefined) this.#statesCount += 1;
    else if (known.revision >= revision) return; // read before the events that led to it came
    ofTag.set(taskId, state);
    if (taskId < this.#job.numTasks) this.#aggregates.set(taskId, tag, status);
  }

  #setLease(lease: TaskLease): void {
    const isLost = lease.state === 'lost';
    if (isLost) this.#lost.set(lease.taskId, lease);
    else this.#lost.delete(lease.taskId);
    this.#aggregates.setLost(lease.taskId, isLost);
  }

  /** Another job under the same name may have more tasks, and states that came before this event count again. */
  #setJob(job: JobInfo): void {
    const isAnother = job.numTasks !== this.#job.numTasks;
    this.#job = job;
    if (isAnother) this.#aggregate();
    else this.#aggregates.setExpectedTags(job.expectedTags);
  }

  #aggregate(): void {
    this.#aggregates = new JobAggregates(this.#job);
    for (const ofTag of this.#states.values()) {
      for (const { taskId, tag, status } of ofTag.values()) {
        if (taskId < this.#job.numTasks) this.#aggregates.set(taskId, tag, status);
      }
    }
    for (const taskId of this.#lost.keys()) this.#aggregates.setLost(taskId, true);
  }

  #clear(): void {
    this.#states.clear();
    this.#lost.clear();
    this.#statesCount = 0;
    this.#revision = 0;
    this.#isSynced = false;
    this.#seededTo = 0;
    this.#aggregate();
  }

  #reach(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
  }
}
