// A manager's claim on its task: the epoch it was given, renewed while it works and released at the end.
//
// The lease is renewed every third of its TTL, so that two renewals may fail before it is lost. A failed renewal is
// retried within its third, and then again in the next one: the task may be fine although the store is unreachable.
// Failures here are only logged, except that a newer claim stops the manager.
//
// J13  A `fenced` renewal stops the manager: a newer claim has the task.
import { SynclineError, type Timer } from '@syncline/kernel';
import type { LeaseRequest, TaskLease } from '../job.js';
import type { CallOptions } from '../job-store.js';
import { type JobAccess, type OpenCall, runCall } from './store-calls.js';

const RENEWALS_PER_TTL = 3;

/** Closing must not delay the process for long: a lease that is not released expires anyway. */
const RELEASE_TIMEOUT_MS = 5_000;

export interface TaskClaimOptions {
  readonly taskId: number;
  /** 0 if it never expires. */
  readonly ttlMs: number;
  readonly holder: string;
  readonly isAutomatic: boolean;
}

export async function claimTask(
  access: JobAccess,
  options: TaskClaimOptions,
  opening: OpenCall,
): Promise<TaskClaim> {
  const request = requestOf(access, options, { action: 'claim', epoch: 0 });
  const { epoch } = await opening.send((call) => access.store.lease(request, call));
  return new TaskClaim(access, options, epoch);
}

export class TaskClaim {
  readonly epoch: number;
  readonly #access: JobAccess;
  readonly #options: TaskClaimOptions;
  #timer: Timer | undefined;
  #renewing: Promise<void> | undefined;
  #isStopped = false;
  #isAbandoned = false;
  #failures = 0;

  constructor(access: JobAccess, options: TaskClaimOptions, epoch: number) {
    this.epoch = epoch;
    this.#access = access;
    this.#options = options;
    if (options.isAutomatic && options.ttlMs > 0) this.#arm(this.#everyMs);
  }

  async renew({ signal }: CallOptions, timeoutMs?: number): Promise<TaskLease> {
    const { store, life } = this.#access;
    const what = `the renewal of the lease of task ${this.#options.taskId}`;
    const time = timeoutMs === undefined ? {} : { timeoutMs };
    const renewal = { what, isWrite: false, signal, closing: life.closing, ...time };
    try {
      return await runCall(this.#access, renewal, (call) =>
        store.lease(this.#request('renew'), call),
      );
    } catch (thrown) {
      const isFenced = thrown instanceof SynclineError && thrown.code === 'fenced';
      if (isFenced) life.fence(thrown, { epoch: this.epoch });
      throw thrown;
    }
  }

  /** Cancels the timer and waits for a renewal in flight. */
  async stopRenewing(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#renewing;
  }

  /** Call it when the job is deleted: there is nothing left to renew or release. */
  abandon(): void {
    this.#isAbandoned = true;
    void this.stopRenewing(); // a renewal in flight logs its own failure
  }

  /** Never throws: the caller of `close` could do nothing about it. */
  async release(): Promise<void> {
    const { store, life, logger } = this.#access;
    if (life.isFenced || this.#isAbandoned) return;
    const what = `the release of task ${this.#options.taskId}`;
    try {
      const release = { what, isWrite: true, timeoutMs: RELEASE_TIMEOUT_MS };
      await runCall(this.#access, release, (call) => store.lease(this.#request('release'), call));
    } catch (thrown) {
      const { code } = SynclineError.from(thrown);
      logger.warn('🟡 the lease could not be released', { epoch: this.epoch, error: code });
    }
  }

  get #everyMs(): number {
    return this.#options.ttlMs / RENEWALS_PER_TTL;
  }

  /** The timer does not keep the process alive. */
  #arm(delayMs: number): void {
    if (this.#isStopped) return;
    const renew = () => {
      this.#renewing = this.#renewNow();
    };
    this.#timer = this.#access.clock.setTimer(delayMs, renew, { unref: true });
  }

  async #renewNow(): Promise<void> {
    const { clock, logger } = this.#access;
    const startMs = clock.monotonicMs();
    try {
      await this.renew({}, this.#everyMs);
      if (this.#failures > 0) logger.info('lease renewal recovered', { failures: this.#failures });
      this.#failures = 0;
    } catch (thrown) {
      this.#noteFailure(thrown);
    }
    this.#arm(Math.max(0, startMs + this.#everyMs - clock.monotonicMs()));
  }

  #noteFailure(thrown: unknown): void {
    const code = thrown instanceof SynclineError ? thrown.code : String(thrown);
    if (code === 'fenced') this.#isStopped = true;
    if (this.#isStopped) return;
    this.#failures += 1;
    if (this.#failures > 1) return; // log only the first failure in a row
    this.#access.logger.warn('🟡 the lease could not be renewed', { error: code });
  }

  #request(action: LeaseRequest['action']): LeaseRequest {
    return requestOf(this.#access, this.#options, { action, epoch: this.epoch });
  }
}

function requestOf(
  { job }: JobAccess,
  { taskId, ttlMs, holder }: TaskClaimOptions,
  step: Pick<LeaseRequest, 'action' | 'epoch'>,
): LeaseRequest {
  const { jobId, incarnation } = job;
  return { jobId, incarnation, taskId, ttlMs, holder, ...step };
}
