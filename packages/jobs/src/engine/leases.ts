// The leases of a store: passes lease changes to the watch, and declares lost what the watch reports.
//
// Leases that expire at the same time are declared lost together, several hundred per commit, since a whole cluster can
// disappear at once. They have their own queue, apart from the writes of live tasks, and are never refused because of
// queue limits. If a commit fails it is retried, because the watch reports the leases again.
//
// In a shared store expiry is by the database's clock, and the database is polled for overdue leases.
//
// J18  A lease is lost between ttl and ttl + 1 s after its last renewal, no matter how many expire at once.
import { SynclineError, type Timer } from '@syncline/kernel';
import { decideLost } from '../core/decide-lease.js';
import { jobsLimits } from '../limits.js';
import type { EngineParts } from './commits.js';
import type { PinnedJob } from './job-cache.js';
import { LeaseWatch } from './lease-watch.js';
import type { CommitBatch, StagedJob } from './staged-job.js';
import type { LeaseRef, StoreStart } from './store-adapter.js';

/** Approximate size that a lost lease adds to a commit. */
const LEASE_BYTES = 512;
/** How often a shared store is polled for overdue leases. */
const POLL_MS = 300;

export class Leases {
  readonly #deps: EngineParts;
  readonly #watch: LeaseWatch;
  /** By incarnation and task. */
  readonly #waiting = new Map<string, LeaseRef>();
  /** Leases being declared lost by a commit in flight: memory still shows them as held. */
  readonly #inFlight = new Set<string>();
  #running: Promise<void> | undefined;
  #poll: Timer | undefined;
  #isClosed = false;

  constructor(deps: EngineParts, start: StoreStart) {
    this.#deps = deps;
    this.#watch = new LeaseWatch({
      clock: deps.clock,
      // If the job is not in memory, this is checked again once it has been loaded.
      hasUnfinished: ({ jobId, taskId }) =>
        deps.jobs.peek(jobId)?.cells.hasUnfinished(taskId) ?? true,
      onOverdue: (lease) => this.#add(lease),
    });
    for (const { ttlMs, ...lease } of start.heldLeases) this.#watch.watch(lease, ttlMs);
    if (deps.adapter.shared) this.#planPoll();
  }

  follow({ row, tasks, writers, isRowChanged, isDeleted }: StagedJob): void {
    const { jobId, incarnation } = row;
    if (this.#deps.adapter.shared) return;
    if (isDeleted) {
      this.#watch.forgetJob(incarnation);
      return;
    }
    for (const { taskId, epoch, state, ttlMs } of tasks.values()) {
      if (state === 'held') this.#watch.watch({ jobId, incarnation, taskId, epoch }, ttlMs);
      else this.#watch.forget(incarnation, taskId);
    }
    for (const taskId of writers) this.#watch.extend(incarnation, taskId);
    if (isRowChanged) this.#watch.recheck(incarnation);
  }

  extend(incarnation: string, taskId: number): void {
    this.#watch.extend(incarnation, taskId);
  }

  /** For a job whose rows cannot be read. */
  forgetJob(incarnation: string): void {
    this.#watch.forgetJob(incarnation);
  }

  isBeingLost(incarnation: string, taskId: number): boolean {
    return this.#inFlight.has(nameOf({ incarnation, taskId }));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#poll?.cancel();
    this.#watch.close();
    await this.#running;
  }

  #planPoll(): void {
    const { clock, adapter } = this.#deps;
    if (this.#isClosed) return;
    this.#poll = clock.setTimer(
      POLL_MS,
      () => {
        void (adapter.shared?.overdue() ?? Promise.resolve([]))
          .then((leases) => {
            for (const lease of leases) this.#add(lease);
          })
          .catch((thrown: unknown) => this.#warn(thrown))
          .finally(() => this.#planPoll());
      },
      { unref: true },
    );
  }

  /** Queues an expired lease. The same lease may be reported repeatedly. */
  #add(lease: LeaseRef): void {
    if (this.#isClosed) return;
    this.#waiting.set(nameOf(lease), lease);
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    await Promise.resolve(); // first collect all leases reported in this turn
    while (this.#waiting.size > 0 && !this.#isClosed) {
      const pinned = new Map<string, PinnedJob>();
      try {
        const leases = await this.#take(pinned);
        await Promise.all(Array.from(leases, ([jobId, list]) => this.#commit(jobId, list)));
      } catch (thrown) {
        this.#warn(thrown);
      }
      for (const { job } of pinned.values()) if (job) job.pins -= 1;
    }
    this.#waiting.clear();
    this.#running = undefined;
  }

  /** The next leases by job. Each job is pinned; jobs for which there is no memory wait for the next round. */
  async #take(pinned: Map<string, PinnedJob>): Promise<ReadonlyMap<string, LeaseRef[]>> {
    const { jobs } = this.#deps;
    const byJob = new Map<string, LeaseRef[]>();
    let count = 0;
    for (const [name, lease] of this.#waiting) {
      const { jobId } = lease;
      if (count === jobsLimits.commitWritesMax.value) break;
      if (!pinned.has(jobId) && pinned.size > 0 && jobs.isOverfull) break;
      this.#waiting.delete(name);
      try {
        if (!pinned.has(jobId)) pinned.set(jobId, jobs.pinNow(jobId) ?? (await jobs.pin(jobId)));
      } catch (thrown) {
        this.#warn(thrown); // a job that cannot be read must not block the others
        continue;
      }
      const leases = byJob.get(jobId) ?? [];
      leases.push(lease);
      byJob.set(jobId, leases);
      count += 1;
    }
    return byJob;
  }

  async #commit(jobId: string, leases: readonly LeaseRef[]): Promise<void> {
    const overdue = leases.map(({ taskId }) => taskId);
    const bytes = leases.length * LEASE_BYTES;
    try {
      const lost = await this.#deps.commits.run(
        jobId,
        (batch, staged) => this.#declareLost(batch, staged, leases),
        {
          overdue,
          bytes,
          isOwn: true,
        },
      );
      for (const { lease, revision } of lost) this.#reportLost(lease, revision);
    } finally {
      for (const lease of leases) this.#inFlight.delete(nameOf(lease));
    }
  }

  /** Skips leases that have been renewed since, have no work left, or have damaged rows. */
  #declareLost(batch: CommitBatch, staged: StagedJob | undefined, leases: readonly LeaseRef[]) {
    const { clock, adapter } = this.#deps;
    const lost: { readonly lease: LeaseRef; readonly revision: number }[] = [];
    for (const lease of leases) {
      const { incarnation, taskId, epoch } = lease;
      const isOverdue = adapter.shared
        ? batch.rows.isOverdue?.(taskId)
        : this.#watch.isOverdue(incarnation, taskId);
      if (!isOverdue || staged?.row.incarnation !== incarnation) continue;
      if (staged.writers.has(taskId) || !staged.job.cells.hasUnfinished(taskId)) continue;
      try {
        const rows = { ...staged.rows, task: staged.taskOf(taskId) };
        const decision = decideLost(rows, epoch, clock.nowMs());
        if (!decision) continue;
        staged.stage(decision);
        batch.requireSynced();
        lost.push({ lease, revision: decision.lease.revision });
        this.#inFlight.add(nameOf(lease));
      } catch (thrown) {
        this.#warn(thrown);
      }
    }
    return lost;
  }

  #reportLost({ jobId, taskId, epoch }: LeaseRef, revision: number): void {
    const { logger, metrics } = this.#deps;
    logger.warn('🟡 a task lost its lease', { jobId, taskId, epoch, revision });
    metrics.add('syncline_jobs_leases_lost_total');
  }

  #warn(thrown: unknown): void {
    const { code } = SynclineError.from(thrown, 'storage-failed');
    if (code !== 'closed')
      this.#deps.logger.warn('🟡 lost leases were not stored', { error: code });
  }
}

function nameOf({ incarnation, taskId }: Pick<LeaseRef, 'incarnation' | 'taskId'>): string {
  return `${incarnation}/${taskId}`;
}
