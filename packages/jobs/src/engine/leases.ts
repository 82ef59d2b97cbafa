// Declares expired leases lost: several hundred per commit, since a whole cluster can disappear at once (J18). They
// have their own queue and are not subject to the limits for writes. A failed commit is retried at the next report.
//
// In a shared store expiry is by the database's clock, and the database is polled for overdue leases.
import { type Clock, SynclineError, type Timer } from '@syncline/kernel';
import { decideLost } from '../core/decisions.js';
import type { TaskLease } from '../job.js';
import { limitValues } from '../limits.js';
import type { DecideCall, EngineParts } from './commits.js';
import type { StagedJob } from './staged-job.js';
import type { LeaseRef, StoreStart } from './store-adapter.js';

/** How often a shared store is polled for overdue leases. */
const POLL_MS = 300;

export type Leases = ReturnType<typeof createLeases>;

export function createLeases({ adapter, clock, commits, jobs, logger, metrics }: EngineParts) {
  const { shared } = adapter;
  /** By incarnation and task. */
  const waiting = new Map<string, LeaseRef>();
  /** Leases being declared lost by a commit in flight: memory still shows them as held. */
  const inFlight = new Set<string>();
  let running: Promise<void> | undefined;
  let pollTimer: Timer | undefined;
  let isClosed = false;
  const watch = new LeaseWatch({
    clock,
    // If the job is not in memory, this is checked again once it has been loaded.
    hasUnfinished: ({ jobId, taskId }) =>
      jobs.loaded.get(jobId)?.cells.hasUnfinished(taskId) ?? true,
    onOverdue: add,
  });

  /** Queues an expired lease. The same lease may be reported repeatedly. */
  function add(lease: LeaseRef): void {
    if (isClosed) return;
    waiting.set(nameOf(lease), lease);
    running ??= run();
  }

  function planPoll(): void {
    if (!shared || isClosed) return;
    const poll = async () => {
      await shared.overdue().then((leases) => leases.forEach(add), warn);
      planPoll();
    };
    pollTimer = clock.setTimer(POLL_MS, () => void poll(), { unref: true });
  }

  async function run(): Promise<void> {
    await Promise.resolve(); // first collect all leases reported in this turn
    while (waiting.size > 0 && !isClosed) {
      const stored: Promise<void>[] = [];
      const failures: unknown[] = [];
      const failed = (thrown: unknown) => void failures.push(thrown);
      const leases = [...waiting.values()].slice(0, limitValues.commitWritesMax);
      for (const lease of leases) waiting.delete(nameOf(lease));
      for (const lease of leases) {
        const { jobId } = lease;
        if (jobs.isOverfull && !jobs.loaded.get(jobId)) await Promise.all(stored); // lets go of the earlier jobs
        jobs.hold(jobId);
        await jobs.load(jobId).catch(() => {}); // one by one; `declare` reports a job that cannot be read
        stored.push(declare(lease).catch(failed)); // the call holds the job from here on
        jobs.release(jobId);
      }
      await Promise.all(stored);
      if (failures.length > 0) warn(failures[0]);
    }
    waiting.clear();
    running = undefined;
  }

  /** Changes nothing if the lease has been renewed since, or its task has no work left. Throws `corrupt`. */
  async function declare(lease: LeaseRef): Promise<void> {
    const { jobId, incarnation, taskId, epoch } = lease;
    const decide: DecideCall<TaskLease | undefined> = (staged, { rows }) => {
      const isOverdue = shared ? rows.isOverdue?.(taskId) : watch.isOverdue(incarnation, taskId);
      if (!isOverdue || staged?.row.incarnation !== incarnation) return undefined;
      if (staged.writers.has(taskId) || !staged.job.cells.hasUnfinished(taskId)) return undefined;
      const decision = decideLost(staged.rowsWith(taskId), epoch, clock.nowMs());
      if (!decision) return undefined;
      staged.stage(decision);
      inFlight.add(nameOf(lease));
      return decision.lease;
    };
    try {
      const lost = await commits.run(jobId, decide, { overdue: taskId, isOwn: true });
      if (!lost) return;
      const { revision } = lost;
      logger.warn('🟡 a task lost its lease', { jobId, taskId, epoch, revision });
      metrics.add('syncline_jobs_leases_lost_total');
    } finally {
      inFlight.delete(nameOf(lease));
    }
  }

  function warn(thrown: unknown): void {
    const { code } = SynclineError.from(thrown, 'storage-failed');
    if (code !== 'closed') logger.warn('🟡 lost leases were not stored', { error: code });
  }

  return {
    watch,

    start(heldLeases: StoreStart['heldLeases']): void {
      for (const { ttlMs, ...lease } of heldLeases) watch.watch(lease, ttlMs);
      planPoll();
    },

    follow({ row, tasks, writers, isRowChanged, isDeleted }: StagedJob): void {
      const { jobId, incarnation } = row;
      if (isDeleted && !shared) watch.forget(incarnation);
      if (isDeleted || shared) return;
      for (const { taskId, epoch, state, ttlMs } of tasks.values()) {
        if (state === 'held') watch.watch({ jobId, incarnation, taskId, epoch }, ttlMs);
        else watch.forget(incarnation, taskId);
      }
      for (const taskId of writers) watch.extend(incarnation, taskId);
      if (isRowChanged) watch.recheck(incarnation);
    },

    isBeingLost: (incarnation: string, taskId: number) =>
      inFlight.has(nameOf({ incarnation, taskId })),

    async close(): Promise<void> {
      isClosed = true;
      pollTimer?.cancel();
      watch.close();
      await running;
    },
  };
}

function nameOf({ incarnation, taskId }: Pick<LeaseRef, 'incarnation' | 'taskId'>): string {
  return `${incarnation}/${taskId}`;
}

export interface LeaseWatchDeps {
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  hasUnfinished(lease: LeaseRef): boolean;
  /** The lease has expired. May be called repeatedly for the same lease; `isOverdue` tells whether it still is. */
  onOverdue(lease: LeaseRef): void;
}

/** A quarter of the second within which an expired lease must be reported. */
const TICK_MS = 250;
const REPORT_AGAIN_MS = 1_000;
/** A tick delayed by more than this means that the process was paused, not just busy. */
const TICK_DELAY_MAX_MS = 500;
const NEVER = Number.POSITIVE_INFINITY;

interface Entry {
  readonly lease: LeaseRef;
  readonly ttlMs: number;
  deadlineMs: number;
  /** When to check it next: at its deadline, some time after a report, or never if its task has no work left. */
  checkAtMs: number;
}

/**
 * Reports leases that were not renewed within their TTL and whose tasks have work left, each second until they are
 * renewed or forgotten. Deadlines count only time during which this process was running: after a pause, renewals may be
 * waiting in the sockets. If it was paused, the tick is late and all deadlines move by the same amount.
 */
export class LeaseWatch {
  readonly #deps: LeaseWatchDeps;
  readonly #jobs = new Map<string, Map<number, Entry>>();
  /** No lease needs to be checked before this time. */
  #nextCheckMs = NEVER;
  #pausedMs = 0;
  #timer: Timer | undefined;
  #isClosed = false;
  #tickDueMs = NEVER;

  constructor(deps: LeaseWatchDeps) {
    this.#deps = deps;
  }

  /** Starts the TTL now. Replaces the lease of an earlier epoch. A TTL of 0 never expires. */
  watch(lease: LeaseRef, ttlMs: number): void {
    const { incarnation, taskId } = lease;
    this.forget(incarnation, taskId);
    if (ttlMs === 0 || this.#isClosed) return;
    const tasks = this.#jobs.get(incarnation) ?? new Map<number, Entry>();
    tasks.set(taskId, { lease, ttlMs, deadlineMs: 0, checkAtMs: NEVER });
    this.#jobs.set(incarnation, tasks);
    this.extend(incarnation, taskId);
  }

  /** Restarts the TTL after a renewal. Ignores a lease that is not watched. */
  extend(incarnation: string, taskId: number): void {
    const entry = this.#jobs.get(incarnation)?.get(taskId);
    if (!entry) return;
    entry.deadlineMs = this.#uptimeMs() + entry.ttlMs;
    this.#checkAt(entry, entry.deadlineMs);
  }

  /** Check this before declaring a lease lost: it may have been renewed since the report. */
  isOverdue(incarnation: string, taskId: number): boolean {
    const entry = this.#jobs.get(incarnation)?.get(taskId);
    return entry !== undefined && entry.deadlineMs <= this.#uptimeMs();
  }

  /** The lease of a task, or of all tasks. */
  forget(incarnation: string, taskId?: number): void {
    const tasks = this.#jobs.get(incarnation);
    if (taskId === undefined) tasks?.clear();
    else tasks?.delete(taskId);
    if (tasks?.size === 0) this.#jobs.delete(incarnation);
  }

  /** Call it when the expected tags have changed: tasks that had no work left may have some now. */
  recheck(incarnation: string): void {
    for (const entry of this.#jobs.get(incarnation)?.values() ?? [])
      this.#checkAt(entry, entry.deadlineMs);
  }

  /** Stops watching. Leases from commits still in flight are ignored. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#jobs.clear();
  }

  /** Monotonic time excluding pauses of this process. The first call after a pause detects it. */
  #uptimeMs(): number {
    const uptimeMs = this.#deps.clock.monotonicMs() - this.#pausedMs;
    const lateMs = uptimeMs - this.#tickDueMs;
    if (lateMs <= TICK_DELAY_MAX_MS) return uptimeMs;
    // The pause may have begun right after the last tick. A late report is better than an early one.
    const pauseMs = lateMs + TICK_MS;
    this.#pausedMs += pauseMs;
    return uptimeMs - pauseMs;
  }

  #checkAt(entry: Entry, atMs: number): void {
    entry.checkAtMs = atMs;
    this.#nextCheckMs = Math.min(this.#nextCheckMs, atMs);
    if (this.#timer === undefined) this.#waitForTick();
  }

  #waitForTick(): void {
    this.#timer = this.#deps.clock.setTimer(TICK_MS, () => this.#tick(), { unref: true });
    this.#tickDueMs = this.#uptimeMs() + TICK_MS;
  }

  #tick(): void {
    const nowMs = this.#uptimeMs();
    this.#timer = undefined;
    this.#tickDueMs = NEVER;
    if (this.#nextCheckMs <= nowMs) this.#check(nowMs);
    if (this.#nextCheckMs < NEVER) this.#waitForTick();
  }

  #check(nowMs: number): void {
    this.#nextCheckMs = NEVER;
    for (const tasks of this.#jobs.values()) {
      for (const entry of tasks.values()) {
        if (entry.checkAtMs <= nowMs) {
          const isUnfinished = this.#deps.hasUnfinished(entry.lease);
          entry.checkAtMs = isUnfinished ? nowMs + REPORT_AGAIN_MS : NEVER;
          if (isUnfinished) this.#deps.onOverdue(entry.lease);
        }
        this.#nextCheckMs = Math.min(this.#nextCheckMs, entry.checkAtMs);
      }
    }
  }
}
