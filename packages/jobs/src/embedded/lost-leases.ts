// Declares leases lost: those whose time is up at one moment together, some hundred in each batch.
//
// A whole cluster can go away at once. Its leases wait here, not among the writes of those who are still there,
// and are never refused for want of room. What is not stored is tried again: the watch reports it once more.
//
// J18  A lease is lost between ttl and ttl + 1 s after its last renewal, however many are.
import { type Logger, SynclineError } from '@syncline/kernel';
import type { LeaseWatch, WatchedLease } from '../leases/lease-watch.js';
import { jobsLimits } from '../limits.js';
import type { StoreReports } from '../store-reports.js';
import type { CommitQueue } from './commit-queue.js';
import type { JobCache } from './job-cache.js';
import type { JobWrites } from './job-writes.js';
import type { LoadedJob } from './loaded-job.js';
import type { StagedBatch } from './staged-batch.js';

export interface LostLeasesDeps {
  readonly logger: Logger;
  readonly reports: StoreReports;
  readonly queue: CommitQueue;
  readonly jobs: JobCache;
  readonly writes: JobWrites;
  isOverdue: LeaseWatch['isOverdue'];
}

interface LostLease {
  readonly lease: WatchedLease;
  readonly revision: number;
}

/** What a lost lease adds to a batch, about. */
const LEASE_BYTES = 512;

export class LostLeases {
  readonly #deps: LostLeasesDeps;
  /** By their names. */
  readonly #waiting = new Map<string, WatchedLease>();
  /** Names of those that the batch in flight declares lost. */
  readonly #inFlight = new Set<string>();
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(deps: LostLeasesDeps) {
    this.#deps = deps;
  }

  /** Its time is up. It may be said again and again. */
  add(lease: WatchedLease): void {
    if (this.#isStopped) return;
    this.#waiting.set(nameOf(lease.incarnation, lease.taskId), lease);
    this.#running ??= this.#run();
  }

  /** Whether the batch in flight declares it lost: memory still shows it as held. */
  isInFlight(incarnation: string, taskId: number): boolean {
    return this.#inFlight.has(nameOf(incarnation, taskId));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    await Promise.resolve(); // the others of this moment come first
    while (this.#waiting.size > 0 && !this.#isStopped) {
      const step = new Map<string, LoadedJob | undefined>();
      try {
        const leases = await this.#take(step);
        for (const { lease, revision } of await this.#commit(leases)) {
          this.#deps.reports.lost(lease, revision);
        }
      } catch (thrown) {
        this.#warn(thrown);
      }
      for (const job of step.values()) if (job) job.pins -= 1;
    }
    this.#waiting.clear();
    this.#running = undefined;
  }

  /** The next ones, with a pin on each of their jobs. Jobs that memory has no room for wait for the next step. */
  async #take(pinned: Map<string, LoadedJob | undefined>): Promise<readonly WatchedLease[]> {
    const { jobs } = this.#deps;
    const leases: WatchedLease[] = [];
    for (const [name, lease] of this.#waiting) {
      if (leases.length === jobsLimits.commitWritesMax.value) break;
      const { jobId } = lease;
      const isPinned = pinned.has(jobId);
      if (!isPinned && pinned.size > 0 && jobs.isOverfull) break;
      this.#waiting.delete(name);
      try {
        if (!isPinned) pinned.set(jobId, jobs.pinNow(jobId) ?? (await jobs.pin(jobId)));
        leases.push(lease);
      } catch (thrown) {
        this.#warn(thrown); // a job that cannot be read holds up no other
      }
    }
    return leases;
  }

  #commit(leases: readonly WatchedLease[]): Promise<readonly LostLease[]> {
    return new Promise((resolve, reject) => {
      let lost: readonly LostLease[] = [];
      this.#deps.queue.pushInternal({
        bytes: leases.length * LEASE_BYTES,
        prepare: (batch) => {
          lost = this.#prepare(batch, leases);
        },
        done: () => {
          this.#inFlight.clear();
          resolve(lost);
        },
        failed: (error) => {
          this.#inFlight.clear();
          reject(error);
        },
      });
    });
  }

  /** Whoever was renewed meanwhile, or whose rows are damaged, is left out. */
  #prepare(batch: StagedBatch, leases: readonly WatchedLease[]): readonly LostLease[] {
    const { writes, isOverdue } = this.#deps;
    const lost: LostLease[] = [];
    let refusal: unknown;
    for (const lease of leases) {
      const { incarnation, taskId } = lease;
      if (!isOverdue(incarnation, taskId)) continue;
      try {
        const applied = writes.lose(batch, lease);
        if (!applied) continue;
        lost.push({ lease, revision: applied.lease.revision });
        this.#inFlight.add(nameOf(incarnation, taskId));
      } catch (thrown) {
        refusal ??= thrown;
      }
    }
    if (refusal !== undefined) this.#warn(refusal);
    return lost;
  }

  #warn(thrown: unknown): void {
    const { code } = SynclineError.from(thrown, 'storage-failed');
    if (code !== 'closed')
      this.#deps.logger.warn('🟡 lost leases were not stored', { error: code });
  }
}

function nameOf(incarnation: string, taskId: number): string {
  return `${incarnation}/${taskId}`;
}
