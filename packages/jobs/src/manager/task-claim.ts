// The claim of a manager on its task: the epoch that it got, renewed while it works and released at the end.
//
// J13  A renewal that is `fenced` ends the manager: a newer claim has the task.
import { SynclineError } from '@syncline/kernel';
import type { LeaseRequest, TaskLease } from '../job.js';
import type { CallOptions } from '../job-store.js';
import { Heartbeat } from './heartbeat.js';
import type { JobAccess } from './job-access.js';

/** Closing does not hold up a process for long: a lease that is not released ends by itself. */
const RELEASE_TIMEOUT_MS = 5_000;

export interface TaskClaimOptions {
  readonly taskId: number;
  readonly ttlMs: number;
  readonly holder: string;
  readonly isAutomatic: boolean;
  readonly timeoutMs: number;
}

export type LeasePart = Pick<JobAccess, 'store' | 'job' | 'calls' | 'life' | 'clock' | 'logger'>;

/** Takes the task over from whoever had it. */
export async function claimTask(
  access: LeasePart,
  options: TaskClaimOptions,
  { signal }: CallOptions,
): Promise<TaskClaim> {
  const { store, job, calls } = access;
  const what = `the claim of task ${options.taskId} of job "${job.jobId}"`;
  const request = requestOf(access, options, { action: 'claim', epoch: 0 });
  const lease = await calls.run({ what, isWrite: true, signal }, (call) =>
    store.lease(request, call),
  );
  return new TaskClaim(access, options, lease.epoch);
}

export class TaskClaim {
  readonly epoch: number;
  readonly #access: LeasePart;
  readonly #options: TaskClaimOptions;
  readonly #heartbeat: Heartbeat | undefined;
  #isAbandoned = false;

  constructor(access: LeasePart, options: TaskClaimOptions, epoch: number) {
    this.epoch = epoch;
    this.#access = access;
    this.#options = options;
    const { ttlMs, isAutomatic } = options;
    const renew = (timeoutMs: number) => this.renew({}, timeoutMs);
    if (isAutomatic && ttlMs > 0) this.#heartbeat = new Heartbeat({ ...access, renew }, { ttlMs });
  }

  async renew({ signal }: CallOptions, timeoutMs = this.#options.timeoutMs): Promise<TaskLease> {
    const { store, calls, life, logger } = this.#access;
    const what = `the renewal of the lease of task ${this.#options.taskId}`;
    try {
      return await calls.run(
        { what, isWrite: false, signal, closing: life.closing, timeoutMs },
        (call) => store.lease(this.#request('renew'), call),
      );
    } catch (thrown) {
      const isFenced = thrown instanceof SynclineError && thrown.code === 'fenced';
      if (isFenced && life.fence(thrown)) {
        logger.error('🔴 a newer claim has taken over this task', { epoch: this.epoch });
      }
      throw thrown;
    }
  }

  stopHeartbeat(): Promise<void> {
    return this.#heartbeat?.stop() ?? Promise.resolve();
  }

  /** The job is deleted: there is nothing left to renew or to release. */
  abandon(): void {
    this.#isAbandoned = true;
    void this.#heartbeat?.stop(); // it waits for a renewal under way, which tells its own failure
  }

  /** Never fails: whoever closes can do nothing about it. */
  async release(): Promise<void> {
    const { store, calls, life, logger } = this.#access;
    if (life.isFenced || this.#isAbandoned) return;
    const timeoutMs = Math.min(RELEASE_TIMEOUT_MS, this.#options.timeoutMs);
    const what = `the release of task ${this.#options.taskId}`;
    try {
      await calls.run({ what, isWrite: true, timeoutMs }, (call) =>
        store.lease(this.#request('release'), call),
      );
    } catch (thrown) {
      const { code } = SynclineError.from(thrown);
      logger.warn('🟡 the lease could not be released', { epoch: this.epoch, error: code });
    }
  }

  #request(action: LeaseRequest['action']): LeaseRequest {
    return requestOf(this.#access, this.#options, { action, epoch: this.epoch });
  }
}

function requestOf(
  { job }: LeasePart,
  { taskId, ttlMs, holder }: TaskClaimOptions,
  step: Pick<LeaseRequest, 'action' | 'epoch'>,
): LeaseRequest {
  const { jobId, incarnation } = job;
  return { jobId, incarnation, taskId, ttlMs, holder, ...step };
}
