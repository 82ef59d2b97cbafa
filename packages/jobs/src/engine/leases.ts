// The leases of a store: how decisions reach the watch, and how the watch leads to decisions.
//
// Leases whose time is up at one moment are declared lost together, some hundred in each commit: a whole cluster can go
// away at once. They wait here, not among the writes of those that are still there, and are never refused for want of
// room. What could not be stored is tried again: the watch reports it once more.
//
// A shared store watches by the clock of its database; here it is only asked which leases are overdue.
//
// J18  A lease is lost between ttl and ttl + 1 s after its last renewal, however many are.
import { type Clock, type Logger, SynclineError, type Timer } from '@syncline/kernel';
import { decideLost } from '../core/decide-lease.js';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { CommitBatch } from './commit-batch.js';
import type { Commits } from './commits.js';
import type { JobCache, PinnedJob } from './job-cache.js';
import type { StagedJob } from './job-mirror.js';
import { LeaseWatch } from './lease-watch.js';
import type { LeaseRef, StoreAdapter, StoreStart } from './store-adapter.js';

export interface LeasesDeps {
  readonly adapter: StoreAdapter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: JobsMetrics;
  readonly jobs: JobCache;
  readonly commits: () => Commits;
}

/** What a lost lease adds to a commit, about. */
const LEASE_BYTES = 512;
/** How often a shared store is asked for overdue leases. */
const POLL_MS = 300;

export class Leases {
  readonly #deps: LeasesDeps;
  readonly #watch: LeaseWatch;
  /** By job and task. */
  readonly #waiting = new Map<string, LeaseRef>();
  /** Those that the commit in flight declares lost: memory still shows them as held. */
  readonly #inFlight = new Set<string>();
  #running: Promise<void> | undefined;
  #poll: Timer | undefined;
  #isClosed = false;

  constructor(deps: LeasesDeps, start: StoreStart) {
    this.#deps = deps;
    this.#watch = new LeaseWatch({
      clock: deps.clock,
      // A job that is not in memory is loaded to find out.
      hasUnfinished: ({ jobId, taskId }) =>
        deps.jobs.peek(jobId)?.cells.hasUnfinished(taskId) ?? true,
      onOverdue: (lease) => this.#add(lease),
    });
    for (const { ttlMs, ...lease } of start.heldLeases) this.#watch.watch(lease, ttlMs);
    if (deps.adapter.shared) this.#planPoll();
  }

  /** A commit was applied. */
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

  /** A renewal of what is held. */
  extend(incarnation: string, taskId: number): void {
    this.#watch.extend(incarnation, taskId);
  }

  /** Leases of a job whose rows cannot be read. */
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

  /** Its time is up. It may be reported again and again. */
  #add(lease: LeaseRef): void {
    if (this.#isClosed) return;
    this.#waiting.set(nameOf(lease), lease);
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    await Promise.resolve(); // the others of this moment come first
    while (this.#waiting.size > 0 && !this.#isClosed) {
      const pinned = new Map<string, PinnedJob>();
      try {
        const leases = await this.#take(pinned);
        await Promise.all(Array.from(leases, ([jobId, list]) => this.#commit(jobId, list, pinned)));
      } catch (thrown) {
        this.#warn(thrown);
      }
      for (const { job } of pinned.values()) if (job) job.pins -= 1;
    }
    this.#waiting.clear();
    this.#running = undefined;
  }

  /** The next ones by job, with a pin on each of the jobs. Jobs that memory has no room for wait for the next step. */
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
        this.#warn(thrown); // a job that cannot be read holds up no other
        continue;
      }
      const leases = byJob.get(jobId) ?? [];
      leases.push(lease);
      byJob.set(jobId, leases);
      count += 1;
    }
    return byJob;
  }

  #commit(
    jobId: string,
    leases: readonly LeaseRef[],
    pinned: ReadonlyMap<string, PinnedJob>,
  ): Promise<void> {
    const creations = pinned.get(jobId)?.creations ?? 0;
    return new Promise((resolve, reject) => {
      let lost: readonly Readonly<{ lease: LeaseRef; revision: number }>[] = [];
      const release = () => {
        for (const lease of leases) this.#inFlight.delete(nameOf(lease));
      };
      this.#deps.commits().push({
        jobId,
        bytes: leases.length * LEASE_BYTES,
        prepare: (batch) => {
          lost = this.#prepare(batch, leases, creations);
        },
        done: () => {
          release();
          for (const { lease, revision } of lost) this.#reportLost(lease, revision);
          resolve();
        },
        failed: (thrown) => {
          release();
          reject(thrown);
        },
      });
    });
  }

  /** Leaves out those that were renewed meanwhile, have no work left, or whose rows are damaged. */
  #prepare(batch: CommitBatch, leases: readonly LeaseRef[], creations: number) {
    const { clock, adapter } = this.#deps;
    const lost: { readonly lease: LeaseRef; readonly revision: number }[] = [];
    for (const lease of leases) {
      const { jobId, incarnation, taskId, epoch } = lease;
      const isOverdue = adapter.shared
        ? batch.rows.isOverdue?.(taskId)
        : this.#watch.isOverdue(incarnation, taskId);
      if (!isOverdue) continue;
      try {
        const staged = batch.stage(jobId, creations);
        if (staged?.row.incarnation !== incarnation || staged.writers.has(taskId)) continue;
        if (!staged.job.cells.hasUnfinished(taskId)) continue;
        const rows = { job: staged.row, head: staged.head, task: staged.taskOf(taskId) };
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
