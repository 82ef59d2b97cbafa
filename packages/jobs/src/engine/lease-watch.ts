// Reports leases that were not renewed within their TTL and whose tasks have work left, each second until they are
// renewed or forgotten. A single timer serves all leases, and runs only while there is something to watch.
//
// Deadlines count only time during which this process was running: after a pause, renewals may be waiting in the
// sockets. If the process was paused, its tick is late and all deadlines move by the same amount.
//
// J18  A lease is first reported between ttl and ttl + 1 s after its last renewal.
import type { Clock, Timer } from '@syncline/kernel';
import type { LeaseRef } from './store-adapter.js';

export interface LeaseWatchDeps {
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  /** Whether a cell of the task is neither finished nor failed. */
  hasUnfinished(lease: LeaseRef): boolean;
  /** The lease has expired. May be called repeatedly for the same lease; `isOverdue` tells whether it still is. */
  onOverdue(lease: LeaseRef): void;
}

/** A quarter of the second within which an expired lease must be reported. */
const TICK_MS = 250;
/** Interval between reports of the same lease. */
const REPORT_AGAIN_MS = 1_000;
/** A tick delayed by more than this means that the process was paused, not just busy. */
const TICK_DELAY_MAX_MS = 500;
const NEVER = Number.POSITIVE_INFINITY;

interface Entry {
  readonly lease: LeaseRef;
  readonly ttlMs: number;
  deadlineMs: number;
  /** When to check it next: at its deadline, some time after a report, or never if its task has no work left. */
  lookAtMs: number;
}

export class LeaseWatch {
  readonly #deps: LeaseWatchDeps;
  /** By incarnation and task. */
  readonly #jobs = new Map<string, Map<number, Entry>>();
  /** No lease needs to be checked before this time. */
  #nextLookMs = NEVER;
  #pausedMs = 0;
  #timer: Timer | undefined;
  #isClosed = false;
  /** When the timer is due. */
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
    this.#jobs.set(
      incarnation,
      tasks.set(taskId, { lease, ttlMs, deadlineMs: 0, lookAtMs: NEVER }),
    );
    this.extend(incarnation, taskId);
  }

  /** Restarts the TTL after a renewal. Ignores a lease that is not watched. */
  extend(incarnation: string, taskId: number): void {
    const entry = this.#jobs.get(incarnation)?.get(taskId);
    if (!entry) return;
    entry.deadlineMs = this.#uptimeMs() + entry.ttlMs;
    this.#lookAt(entry, entry.deadlineMs);
  }

  /** Check this before declaring a lease lost: it may have been renewed since the report. */
  isOverdue(incarnation: string, taskId: number): boolean {
    const entry = this.#jobs.get(incarnation)?.get(taskId);
    return entry !== undefined && entry.deadlineMs <= this.#uptimeMs();
  }

  /** Call it when the lease was released or lost. */
  forget(incarnation: string, taskId: number): void {
    const tasks = this.#jobs.get(incarnation);
    tasks?.delete(taskId);
    if (tasks?.size === 0) this.#jobs.delete(incarnation);
  }

  forgetJob(incarnation: string): void {
    this.#jobs.delete(incarnation);
  }

  /** Call it when the expected tags have changed: tasks that had no work left may have some now. */
  recheck(incarnation: string): void {
    for (const entry of this.#jobs.get(incarnation)?.values() ?? [])
      this.#lookAt(entry, entry.deadlineMs);
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

  #lookAt(entry: Entry, atMs: number): void {
    entry.lookAtMs = atMs;
    this.#nextLookMs = Math.min(this.#nextLookMs, atMs);
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
    if (this.#nextLookMs <= nowMs) this.#look(nowMs);
    if (this.#nextLookMs < NEVER) this.#waitForTick();
  }

  #look(nowMs: number): void {
    this.#nextLookMs = NEVER;
    for (const tasks of this.#jobs.values()) {
      for (const entry of tasks.values()) {
        if (entry.lookAtMs <= nowMs) {
          const isUnfinished = this.#deps.hasUnfinished(entry.lease);
          entry.lookAtMs = isUnfinished ? nowMs + REPORT_AGAIN_MS : NEVER;
          if (isUnfinished) this.#deps.onOverdue(entry.lease);
        }
        this.#nextLookMs = Math.min(this.#nextLookMs, entry.lookAtMs);
      }
    }
  }
}
