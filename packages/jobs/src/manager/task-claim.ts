// A manager's claim on its task: the epoch it was given, renewed while it works and released at the end.
//
// The lease is renewed every third of its TTL, so that two renewals may fail before it is lost. Failures here are only
// logged, except that a newer claim stops the manager (J13).
import { SynclineError, type Timer } from '@syncline/kernel';
import { hasCode } from '../core/refusals.js';
import type { LeaseRequest, TaskLease } from '../job.js';
import type { CallOptions } from '../job-store.js';
import type { JobSession } from './store-calls.js';

const RENEWALS_PER_TTL = 3;
/** Closing must not delay the process for long: a lease that is not released expires anyway. */
const RELEASE_TIMEOUT_MS = 5_000;

export type Claim = Omit<LeaseRequest, 'action'>;

export class TaskClaim {
  readonly #session: JobSession;
  readonly #claim: Claim;
  readonly #everyMs: number;
  #timer: Timer | undefined;
  #renewing: Promise<void> | undefined;
  #isStopped = false;
  #isAbandoned = false;
  #isFailing = false;

  constructor(session: JobSession, claim: Claim, isAutomatic: boolean) {
    this.#session = session;
    this.#claim = claim;
    this.#everyMs = claim.ttlMs / RENEWALS_PER_TTL;
    if (isAutomatic) this.#arm(this.#everyMs);
  }

  get taskId(): number {
    return this.#claim.taskId;
  }

  get epoch(): number {
    return this.#claim.epoch;
  }

  async renew(
    { signal }: CallOptions,
    timeoutMs = this.#session.deps.timeoutMs,
  ): Promise<TaskLease> {
    const name = `the renewal of the lease of task ${this.#claim.taskId}`;
    const request: LeaseRequest = { ...this.#claim, action: 'renew' };
    try {
      return await this.#session.call(name, { signal, timeoutMs }, (call) =>
        this.#session.deps.store.lease(request, call),
      );
    } catch (thrown) {
      if (hasCode(thrown, 'fenced')) this.#session.fence(thrown, { epoch: this.epoch });
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
    const { store, logger } = this.#session.deps;
    if (this.#session.isFenced || this.#isAbandoned) return;
    const name = `the release of task ${this.#claim.taskId}`;
    const options = { isWrite: true, timeoutMs: RELEASE_TIMEOUT_MS, closing: undefined };
    const request: LeaseRequest = { ...this.#claim, action: 'release' };
    try {
      await this.#session.call(name, options, (call) => store.lease(request, call));
    } catch (thrown) {
      const { code } = SynclineError.from(thrown);
      logger.warn('🟡 the lease could not be released', { epoch: this.epoch, error: code });
    }
  }

  #arm(delayMs: number): void {
    const { clock } = this.#session.deps;
    if (this.#isStopped) return;
    const renew = async () => {
      const startMs = clock.monotonicMs();
      try {
        await this.renew({}, this.#everyMs);
        this.#isFailing = false;
      } catch (thrown) {
        this.#noteFailure(thrown);
      }
      this.#arm(Math.max(0, startMs + this.#everyMs - clock.monotonicMs()));
    };
    const start = () => {
      this.#renewing = renew();
    };
    this.#timer = clock.setTimer(delayMs, start, { unref: true });
  }

  /** Logs only the first failure in a row. An outage of the store has already been logged. */
  #noteFailure(thrown: unknown): void {
    const error = thrown instanceof SynclineError ? thrown : undefined;
    if (error?.code === 'fenced') this.#isStopped = true;
    const isOutage = error?.code === 'unavailable' || error?.code === 'timeout';
    if (this.#isStopped || this.#isFailing || isOutage) return;
    this.#isFailing = true;
    const fields = { error: error?.code ?? String(thrown) };
    this.#session.deps.logger.warn('🟡 the lease could not be renewed', fields);
  }
}
