// The leases of the memory store: how decisions reach the watch, and how the watch comes to decisions.
import type { Clock } from '@syncline/kernel';
import { decideLost } from '../core/decide-lease.js';
import type { TaskRow } from '../core/rows.js';
import { LeaseWatch, type WatchedLease } from '../leases/lease-watch.js';
import type { StoreReports } from '../store-reports.js';
import type { MemoryJob } from './memory-job.js';

export interface MemoryLeasesDeps {
  readonly clock: Clock;
  readonly reports: StoreReports;
  jobOf(jobId: string): MemoryJob | undefined;
}

export class MemoryLeases {
  readonly #deps: MemoryLeasesDeps;
  readonly #watch: LeaseWatch;

  constructor(deps: MemoryLeasesDeps) {
    this.#deps = deps;
    this.#watch = new LeaseWatch({
      clock: deps.clock,
      hasUnfinished: ({ jobId, taskId }) => deps.jobOf(jobId)?.hasUnfinished(taskId) ?? false,
      onOverdue: (lease) => this.#declareLost(lease),
    });
  }

  /** A claim, a renewal, a release, or a write that made a lost lease held again. */
  changed(
    { jobId, incarnation }: Pick<WatchedLease, 'jobId' | 'incarnation'>,
    { taskId, epoch, state, ttlMs }: Pick<TaskRow, 'taskId' | 'epoch' | 'state' | 'ttlMs'>,
  ): void {
    if (state === 'held') this.#watch.watch({ jobId, incarnation, taskId, epoch }, ttlMs);
    else this.#watch.forget(incarnation, taskId);
  }

  /** A write was applied: who writes is alive. */
  extend(incarnation: string, taskId: number): void {
    this.#watch.extend(incarnation, taskId);
  }

  /** Other tags are expected of its tasks. */
  recheck(incarnation: string): void {
    this.#watch.recheck(incarnation);
  }

  forgetJob(incarnation: string): void {
    this.#watch.forgetJob(incarnation);
  }

  close(): void {
    this.#watch.close();
  }

  #declareLost(lease: WatchedLease): void {
    const { jobId, incarnation, taskId, epoch } = lease;
    const job = this.#deps.jobOf(jobId);
    const decision = decideLost(job?.leaseRows(taskId), epoch, this.#deps.clock.nowMs());
    this.#watch.forget(incarnation, taskId);
    if (!decision) return;
    job?.commit(decision);
    this.#deps.reports.lost(lease, decision.lease.revision);
  }
}
