// Declares expired leases lost: several hundred per commit, since a whole cluster can disappear at once (J18). They have
// their own queue and are not subject to the limits for writes. A failed commit is retried: the watch reports again.
//
// In a shared store expiry is by the database's clock, and the database is polled for overdue leases.
import { SynclineError, type Timer } from '@syncline/kernel';
import { decideLost } from '../core/decide-lease.js';
import { jobsLimits } from '../limits.js';
import type { EngineParts } from './commits.js';
import { LeaseWatch } from './lease-watch.js';
import type { CommitBatch, StagedJob } from './staged-job.js';
import type { LeaseRef, StoreStart } from './store-adapter.js';

/** Approximate size that a lost lease adds to a commit. */
const LEASE_BYTES = 512;
/** How often a shared store is polled for overdue leases. */
const POLL_MS = 300;

export class Leases {
  readonly #deps: EngineParts;
  readonly watch: LeaseWatch;
  /** By incarnation and task. */
  readonly #waiting = new Map<string, LeaseRef>();
  /** Leases being declared lost by a commit in flight: memory still shows them as held. */
  readonly #inFlight = new Set<string>();
  #running: Promise<void> | undefined;
  #poll: Timer | undefined;
  #isClosed = false;

  constructor(deps: EngineParts) {
    this.#deps = deps;
    this.watch = new LeaseWatch({
      clock: deps.clock,
      // If the job is not in memory, this is checked again once it has been loaded.
      hasUnfinished: ({ jobId, taskId }) =>
        deps.jobs.peek(jobId)?.cells.hasUnfinished(taskId) ?? true,
      onOverdue: (lease) => this.#add(lease),
    });
  }

  start(heldLeases: StoreStart['heldLeases']): void {
    for (const { ttlMs, ...lease } of heldLeases) this.watch.watch(lease, ttlMs);
    this.#planPoll();
  }

  /** Call it after each commit. */
  follow({ row, tasks, writers, isRowChanged, isDeleted }: StagedJob): void {
    const { jobId, incarnation } = row;
    if (this.#deps.adapter.shared) return;
    if (isDeleted) {
      this.watch.forgetJob(incarnation);
      return;
    }
    for (const { taskId, epoch, state, ttlMs } of tasks.values()) {
      if (state === 'held') this.watch.watch({ jobId, incarnation, taskId, epoch }, ttlMs);
      else this.watch.forget(incarnation, taskId);
    }
    for (const taskId of writers) this.watch.extend(incarnation, taskId);
    if (isRowChanged) this.watch.recheck(incarnation);
  }

  isBeingLost(incarnation: string, taskId: number): boolean {
    return this.#inFlight.has(nameOf({ incarnation, taskId }));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#poll?.cancel();
    this.watch.close();
    await this.#running;
  }

  #planPoll(): void {
    const { clock, adapter } = this.#deps;
    const { shared } = adapter;
    if (!shared || this.#isClosed) return;
    const poll = async () => {
      try {
        for (const lease of await shared.overdue()) this.#add(lease);
      } catch (thrown) {
        this.#warn(thrown);
      }
      this.#planPoll();
    };
    this.#poll = clock.setTimer(POLL_MS, () => void poll(), { unref: true });
  }

  /** Queues an expired lease. The same lease may be reported repeatedly. */
  #add(lease: LeaseRef): void {
    if (this.#isClosed) return;
    this.#waiting.set(nameOf(lease), lease);
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    const { jobs } = this.#deps;
    await Promise.resolve(); // first collect all leases reported in this turn
    while (this.#waiting.size > 0 && !this.#isClosed) {
      const stored: Promise<void>[] = [];
      const failures: unknown[] = [];
      const failed = (thrown: unknown) => void failures.push(thrown);
      for (const [jobId, leases] of this.#take()) {
        if (jobs.isOverfull) await Promise.all(stored); // lets go of the earlier jobs
        jobs.hold(jobId);
        await jobs.load(jobId).catch(() => {}); // one by one; `#declare` reports a job that cannot be read
        const release = () => jobs.release(jobId);
        stored.push(this.#declare(jobId, leases).catch(failed).finally(release));
      }
      await Promise.all(stored);
      if (failures.length > 0) this.#warn(failures[0]);
    }
    this.#waiting.clear();
    this.#running = undefined;
  }

  /** The next leases by job. */
  #take(): ReadonlyMap<string, readonly LeaseRef[]> {
    const byJob = new Map<string, LeaseRef[]>();
    for (const [name, lease] of [...this.#waiting].slice(0, jobsLimits.commitWritesMax.value)) {
      this.#waiting.delete(name);
      const leases = byJob.get(lease.jobId) ?? [];
      byJob.set(lease.jobId, leases);
      leases.push(lease);
    }
    return byJob;
  }

  async #declare(jobId: string, leases: readonly LeaseRef[]): Promise<void> {
    const { commits, logger, metrics } = this.#deps;
    const overdue = leases.map(({ taskId }) => taskId);
    const options = { overdue, bytes: leases.length * LEASE_BYTES, isOwn: true };
    const decide = (batch: CommitBatch, staged: StagedJob | undefined) =>
      this.#declareLost(batch, staged, leases);
    try {
      for (const { lease, revision } of await commits.run(jobId, decide, options)) {
        const { taskId, epoch } = lease;
        logger.warn('🟡 a task lost its lease', { jobId, taskId, epoch, revision });
        metrics.add('syncline_jobs_leases_lost_total');
      }
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
        : this.watch.isOverdue(incarnation, taskId);
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

  #warn(thrown: unknown): void {
    const { code } = SynclineError.from(thrown, 'storage-failed');
    if (code !== 'closed')
      this.#deps.logger.warn('🟡 lost leases were not stored', { error: code });
  }
}

function nameOf({ incarnation, taskId }: Pick<LeaseRef, 'incarnation' | 'taskId'>): string {
  return `${incarnation}/${taskId}`;
}
