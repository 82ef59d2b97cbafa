// Watches the time of leases: who has not renewed within its ttl, and has work left, is reported overdue.
//
// One timer serves all. A lease lies in a bucket of `TICK_MS`; a renewal only moves its deadline, and when the
// bucket is due the lease moves on. So a renewal costs nothing, and each lease is looked at once per ttl.
//
// Deadlines count time in which this process ran. A process that was stopped for a while finds its timer late,
// and all deadlines move by as much: its own pause kills nobody, since renewals may lie unread in its sockets.
//
// The watch declares nothing lost. It asks back whether the task has unfinished work, reports, and reports
// again each second until the lease is renewed or forgotten, so a commit that failed is simply tried again.
//
// J18  A lease is first reported between ttl and ttl + 1 s after its last renewal.
import type { Clock, Timer } from '@syncline/kernel';

export type WatchedLease = Readonly<{
  jobId: string;
  incarnation: string;
  taskId: number;
  epoch: number;
}>;

export interface LeaseWatchDeps {
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  /** Whether a cell of the task is neither finished nor failed. */
  hasUnfinished(lease: WatchedLease): boolean;
  /** Its time is up. It may come again for the same lease; `isOverdue` tells whether it still holds. */
  onOverdue(lease: WatchedLease): void;
}

/** How much later than its deadline a lease may be looked at. */
const TICK_MS = 250;
/** How long after a report the next one of the same lease comes. */
const REPORT_AGAIN_MS = 1_000;
/** A timer that is later than this was held up: the process did not run. */
const TIMER_DELAY_MAX_MS = 100;

interface Entry {
  readonly lease: WatchedLease;
  readonly ttlMs: number;
  deadlineMs: number;
  /** The number of its bucket. Undefined: its time is up, but it has no work left. */
  bucket: number | undefined;
}

export class LeaseWatch {
  readonly #deps: LeaseWatchDeps;
  readonly #jobs = new Map<string, Map<number, Entry>>();
  readonly #buckets = new Map<number, Set<Entry>>();
  #pausedMs = 0;
  #wake: { readonly bucket: number; readonly timer: Timer } | undefined;

  constructor(deps: LeaseWatchDeps) {
    this.#deps = deps;
  }

  /** Its time begins now. It replaces the one of an earlier epoch. A ttl of 0 never ends. */
  watch(lease: WatchedLease, ttlMs: number): void {
    this.forget(lease.incarnation, lease.taskId);
    if (ttlMs === 0) return;
    const entry = { lease, ttlMs, deadlineMs: this.#uptimeMs() + ttlMs, bucket: undefined };
    const tasks = this.#jobs.get(lease.incarnation) ?? new Map<number, Entry>();
    this.#jobs.set(lease.incarnation, tasks.set(lease.taskId, entry));
    this.#place(entry, entry.deadlineMs);
  }

  /** It was renewed: its time begins anew. What is not watched is left alone. */
  extend(incarnation: string, taskId: number): void {
    const entry = this.#entryOf(incarnation, taskId);
    if (!entry) return;
    entry.deadlineMs = this.#uptimeMs() + entry.ttlMs;
    if (entry.bucket === undefined) this.#place(entry, entry.deadlineMs);
  }

  /** Ask again before declaring it lost: a renewal may have come since the report. */
  isOverdue(incarnation: string, taskId: number): boolean {
    const entry = this.#entryOf(incarnation, taskId);
    return entry !== undefined && entry.deadlineMs <= this.#uptimeMs();
  }

  /** Released or lost. */
  forget(incarnation: string, taskId: number): void {
    const tasks = this.#jobs.get(incarnation);
    const entry = tasks?.get(taskId);
    if (!tasks || !entry) return;
    this.#takeOut(entry);
    tasks.delete(taskId);
    if (tasks.size === 0) this.#jobs.delete(incarnation);
  }

  forgetJob(incarnation: string): void {
    for (const entry of this.#jobs.get(incarnation)?.values() ?? []) this.#takeOut(entry);
    this.#jobs.delete(incarnation);
  }

  /** Other tags are expected: tasks that had no work left may have some. */
  recheck(incarnation: string): void {
    for (const entry of this.#jobs.get(incarnation)?.values() ?? []) {
      if (entry.bucket === undefined) this.#place(entry, entry.deadlineMs);
    }
  }

  close(): void {
    this.#wake?.timer.cancel();
    this.#wake = undefined;
    this.#jobs.clear();
    this.#buckets.clear();
  }

  #entryOf(incarnation: string, taskId: number): Entry | undefined {
    return this.#jobs.get(incarnation)?.get(taskId);
  }

  /** Monotonic time without the pauses of this process. */
  #uptimeMs(): number {
    return this.#deps.clock.monotonicMs() - this.#pausedMs;
  }

  #place(entry: Entry, dueMs: number): void {
    const bucket = Math.ceil(Math.max(dueMs, this.#uptimeMs()) / TICK_MS);
    entry.bucket = bucket;
    const entries = this.#buckets.get(bucket) ?? new Set<Entry>();
    this.#buckets.set(bucket, entries.add(entry));
    if (!this.#wake || bucket < this.#wake.bucket) this.#wakeAt(bucket);
  }

  #takeOut(entry: Entry): void {
    if (entry.bucket === undefined) return;
    const entries = this.#buckets.get(entry.bucket);
    entries?.delete(entry);
    if (entries?.size === 0) this.#buckets.delete(entry.bucket);
    entry.bucket = undefined;
    if (this.#buckets.size === 0) this.#sleep();
  }

  #sleep(): void {
    this.#wake?.timer.cancel();
    this.#wake = undefined;
  }

  #wakeAt(bucket: number): void {
    this.#sleep();
    const waitMs = Math.max(0, bucket * TICK_MS - this.#uptimeMs());
    const timer = this.#deps.clock.setTimer(waitMs, () => this.#onTimer(bucket), { unref: true });
    this.#wake = { bucket, timer };
  }

  #onTimer(bucket: number): void {
    this.#wake = undefined;
    const lateMs = this.#uptimeMs() - bucket * TICK_MS;
    if (lateMs > TIMER_DELAY_MAX_MS) this.#pausedMs += lateMs;
    const nowMs = this.#uptimeMs();
    for (const [due, entries] of [...this.#buckets]) {
      if (due * TICK_MS > nowMs) continue;
      this.#buckets.delete(due);
      for (const entry of entries) this.#lookAt(entry, nowMs);
    }
    if (this.#wake === undefined && this.#buckets.size > 0)
      this.#wakeAt(Math.min(...this.#buckets.keys()));
  }

  #lookAt(entry: Entry, nowMs: number): void {
    entry.bucket = undefined;
    if (entry.deadlineMs > nowMs) {
      this.#place(entry, entry.deadlineMs);
    } else if (this.#deps.hasUnfinished(entry.lease)) {
      this.#place(entry, nowMs + REPORT_AGAIN_MS);
      this.#deps.onOverdue(entry.lease);
    }
  }
}
