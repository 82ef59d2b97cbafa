// Helpers to create a job and write to it, for the cases of the store suite.
import assert from 'node:assert/strict';
import type { JobInfo, JobSpec, State, TaskLease } from '../job.js';
import type { JobStore, SetStateResult, StateWrite, StoreCapabilities } from '../job-store.js';

export const JOB_ID = 'job';

export async function createJob(store: JobStore, spec: Partial<JobSpec> = {}): Promise<JobInfo> {
  const { job } = await store.createJob({ jobId: JOB_ID, numTasks: 3, ...spec });
  return job;
}

/** One process that holds a task. */
export class TaskWriter {
  readonly #store: JobStore;
  readonly job: JobInfo;
  readonly lease: TaskLease;
  #eventsCount = 0;

  private constructor(store: JobStore, job: JobInfo, lease: TaskLease) {
    this.#store = store;
    this.job = job;
    this.lease = lease;
  }

  static async claim(
    store: JobStore,
    job: JobInfo,
    { taskId = 0, ttlMs = 0, holder = 'sample' } = {},
  ): Promise<TaskWriter> {
    const { jobId, incarnation } = job;
    const action = 'claim';
    const request = { jobId, incarnation, taskId, action, epoch: 0, ttlMs, holder } as const;
    return new TaskWriter(store, job, await store.lease(request));
  }

  /** What `set` would send. Each has its own event id. */
  write(tag: string, status: number, more: Partial<StateWrite> = {}): StateWrite {
    this.#eventsCount += 1;
    const { taskId, epoch } = this.lease;
    const claimId = `${this.job.incarnation.slice(-24)}.${taskId}.${epoch}`; // no other claim has it
    return {
      jobId: this.job.jobId,
      incarnation: this.job.incarnation,
      taskId,
      epoch,
      tag,
      status,
      message: `status ${status}`,
      schemaVersion: 1,
      eventId: `${claimId}.${this.#eventsCount}`,
      ...more,
    };
  }

  send(tag: string, status: number, more?: Partial<StateWrite>): Promise<SetStateResult> {
    return this.#store.setState(this.write(tag, status, more));
  }

  /** A write that must be applied. */
  async set(tag: string, status: number, more?: Partial<StateWrite>): Promise<State> {
    const result = await this.send(tag, status, more);
    assert.ok(result.applied && !result.duplicate, `${JSON.stringify(result)} is not applied`);
    return result.state;
  }

  act(action: 'renew' | 'release'): Promise<TaskLease> {
    const { jobId, incarnation } = this.job;
    const { taskId, epoch, ttlMs, holder } = this.lease;
    return this.#store.lease({ jobId, incarnation, taskId, action, epoch, ttlMs, holder });
  }
}

/** A job and one writer per task. */
export async function createStaffedJob(
  store: JobStore,
  spec: Partial<JobSpec> = {},
): Promise<{ readonly job: JobInfo; readonly writers: readonly TaskWriter[] }> {
  const job = await createJob(store, spec);
  const writers: TaskWriter[] = [];
  for (let taskId = 0; taskId < job.numTasks; taskId += 1)
    writers.push(await TaskWriter.claim(store, job, { taskId }));
  return { job, writers };
}

/**
 * Whether a revision comes this many changes after another. Where streams show only the latest, revisions need not
 * count changes: they only increase.
 */
export function isRevisionAfter(
  { history }: Pick<StoreCapabilities, 'history'>,
  revision: number | undefined,
  { before, changes = 1 }: { readonly before: number; readonly changes?: number },
): void {
  if (history === 'all') assert.equal(revision, before + changes);
  else assert.ok(revision !== undefined && revision > before, `${revision} follows ${before}`);
}

export function at<T>(list: readonly T[], index: number): T {
  const item = list.at(index);
  assert.ok(item !== undefined, `there is no item ${index} of ${list.length}`);
  return item;
}

export async function currentRevision(store: JobStore, jobId = JOB_ID): Promise<number> {
  const job = await store.getJob(jobId);
  assert.ok(job, `there is no job ${jobId}`);
  return job.revision;
}
