// One task of a job over the plain store: it holds a claim, and gives its writes their own event ids.
import type {
  JobInfo,
  JobStore,
  SetStateResult,
  State,
  StateWrite,
  TaskLease,
} from '@syncline/jobs';

export interface TaskOptions {
  readonly jobId: string;
  readonly taskId?: number;
  /** The number of tasks, if the job is created now. Default 4. */
  readonly numTasks?: number;
  /** Default 0: the claim never expires. */
  readonly ttlMs?: number;
  /** Default `test`. */
  readonly holder?: string;
}

export class JobsTask {
  readonly store: JobStore;
  readonly job: JobInfo;
  readonly lease: TaskLease;
  #eventsCount = 0;

  private constructor(store: JobStore, job: JobInfo, lease: TaskLease) {
    this.store = store;
    this.job = job;
    this.lease = lease;
  }

  /** Creates the job if it does not exist. */
  static async claim(store: JobStore, options: TaskOptions): Promise<JobsTask> {
    const { jobId, taskId = 0, numTasks = 4, ttlMs = 0, holder = 'test' } = options;
    const { job } = await store.createJob({ jobId, numTasks });
    const { incarnation } = job;
    const request = {
      jobId,
      incarnation,
      taskId,
      action: 'claim',
      epoch: 0,
      ttlMs,
      holder,
    } as const;
    return new JobsTask(store, job, await store.lease(request));
  }

  /** What `send` would send. */
  write(tag: string, status: number, more: Partial<StateWrite> = {}): StateWrite {
    this.#eventsCount += 1;
    const { jobId, incarnation } = this.job;
    const { taskId, epoch } = this.lease;
    return {
      jobId,
      incarnation,
      taskId,
      epoch,
      tag,
      status,
      message: `status ${status}`,
      schemaVersion: 1,
      eventId: `${taskId}.${epoch}.${this.#eventsCount}`,
      ...more,
    };
  }

  send(tag: string, status: number, more?: Partial<StateWrite>): Promise<SetStateResult> {
    return this.store.setState(this.write(tag, status, more));
  }

  /** A write that must be applied. */
  async set(tag: string, status: number, more?: Partial<StateWrite>): Promise<State> {
    const result = await this.send(tag, status, more);
    if (!result.applied) throw new Error(`${tag} is at version ${result.current.version}`);
    return result.state;
  }

  act(action: 'renew' | 'release'): Promise<TaskLease> {
    const { jobId, incarnation } = this.job;
    const { taskId, epoch, ttlMs, holder } = this.lease;
    return this.store.lease({ jobId, incarnation, taskId, action, epoch, ttlMs, holder });
  }
}
