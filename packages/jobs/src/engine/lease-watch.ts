// Watches the time of leases: who has not renewed within its ttl, and has work left, is reported overdue.
//
// One timer ticks for all, and only while there is something to watch. A lease lies in the bucket of a tick; a
// renewal only moves its deadline, and when the bucket is due the lease moves on. So a renewal costs nothing,
// and each lease is looked at about once per ttl.
//
// Deadlines count time in which this process ran. A process that was stopped for a while finds its tick late,
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

/** Four of them fit into the second within which a report must come. */
const TICK_MS = 250;
/** How long after a report the next one of the same lease comes. */
const REPORT_AGAIN_MS = 1_000;
/** A tick that is later than this was not merely waiting for its turn: the process did not run. */
const TICK_DELAY_MAX_MS = 500;

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
  #entriesInBuckets = 0;
  #pausedMs = 0;
  /** All buckets up to here were looked at. */
  #doneBucket = 0;
  #timer: Timer | undefined;
  #isClosed = false;
  /** When the timer fires, unless the process is held up. */
  #tickDueMs = Number.POSITIVE_INFINITY;

  constructor(deps: LeaseWatchDeps) {
    this.#deps = deps;
  }

  /** Its time begins now. It replaces the one of an earlier epoch. A ttl of 0 never ends. */
  watch(lease: WatchedLease, ttlMs: number): void {
    this.forget(lease.incarnation, lease.taskId);
    if (ttlMs === 0 || this.#isClosed) return;
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

  /** From now on nothing is watched, though a commit that was under way may still bring a lease. */
  close(): void {
    this.#isClosed = true;
    this.#stopTicking();
    this.#jobs.clear();
    this.#buckets.clear();
    this.#entriesInBuckets = 0;
  }

  #entryOf(incarnation: string, taskId: number): Entry | undefined {
    return this.#jobs.get(incarnation)?.get(taskId);
  }

  /** Monotonic time without the pauses of this process. Whoever asks first after a pause notices it. */
  #uptimeMs(): number {
    const uptimeMs = this.#deps.clock.monotonicMs() - this.#pausedMs;
    const lateMs = uptimeMs - this.#tickDueMs;
    if (lateMs <= TICK_DELAY_MAX_MS) return uptimeMs;
    // The pause may have begun right after the last tick: rather a report too late than one too early.
    const pauseMs = lateMs + TICK_MS;
    this.#pausedMs += pauseMs;
    return uptimeMs - pauseMs;
  }

  #place(entry: Entry, dueMs: number): void {
    if (this.#timer === undefined) this.#startTicking();
    entry.bucket = Math.max(bucketOf(dueMs), this.#doneBucket + 1);
    const entries = this.#buckets.get(entry.bucket) ?? new Set<Entry>();
    this.#buckets.set(entry.bucket, entries.add(entry));
    this.#entriesInBuckets += 1;
  }

  #takeOut(entry: Entry): void {
    if (entry.bucket === undefined) return;
    this.#buckets.get(entry.bucket)?.delete(entry);
    entry.bucket = undefined;
    this.#entriesInBuckets -= 1;
  }

  #startTicking(): void {
    this.#buckets.clear(); // those that are left are empty
    this.#doneBucket = Math.floor(this.#uptimeMs() / TICK_MS);
    this.#waitForTick();
  }

  #waitForTick(): void {
    this.#timer = this.#deps.clock.setTimer(TICK_MS, () => this.#tick(), { unref: true });
    this.#tickDueMs = this.#uptimeMs() + TICK_MS;
  }

  #stopTicking(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#tickDueMs = Number.POSITIVE_INFINITY;
  }

  #tick(): void {
    const nowMs = this.#uptimeMs();
    this.#tickDueMs = Number.POSITIVE_INFINITY;
    while ((this.#doneBucket + 1) * TICK_MS <= nowMs) {
      this.#doneBucket += 1;
      // Who is forgotten while the others are looked at must still be found in it.
      for (const entry of this.#buckets.get(this.#doneBucket) ?? []) this.#lookAt(entry, nowMs);
      this.#buckets.delete(this.#doneBucket);
    }
    if (this.#entriesInBuckets > 0) this.#waitForTick();
    else this.#stopTicking();
  }

  #lookAt(entry: Entry, nowMs: number): void {
    this.#takeOut(entry);
    if (entry.deadlineMs > nowMs) {
      this.#place(entry, entry.deadlineMs);
    } else if (this.#deps.hasUnfinished(entry.lease)) {
      this.#place(entry, nowMs + REPORT_AGAIN_MS);
      this.#deps.onOverdue(entry.lease);
    }
  }
}

/** The first tick at or after this time. */
function bucketOf(dueMs: number): number {
  return Math.ceil(dueMs / TICK_MS);
}
