// What one subscriber of a job sees, and what is measured of it.
import {
  type Clock,
  type FeedGap,
  type FeedPosition,
  type FeedPresenter,
  type FeedStale,
  SynclineError,
} from '@syncline/kernel';
import { formatCursor } from '../cursor.js';
import type { Cursor, History, JobEvent, Overflow } from '../job-event.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { JobFeedChange } from './feed-change.js';

export interface JobPresenterDeps {
  readonly clock: Clock;
  readonly metrics: JobsMetrics;
  /** What cursors begin with now. */
  currentBase(): string;
  onEnd(): void;
}

export interface JobPresenterOptions {
  readonly history: History;
  readonly overflow: Overflow;
  /** Where the subscriber resumes. */
  readonly after: Cursor | undefined;
}

export class JobPresenter implements FeedPresenter<JobFeedChange, JobEvent> {
  readonly #deps: JobPresenterDeps;
  readonly #options: JobPresenterOptions;
  /** Of the events that were handed out: after a reset still the old one, until its `gap` is. */
  #base: string;
  /** When the replay began that is under way or was the last. */
  #replayAtMs = 0;

  constructor(deps: JobPresenterDeps, options: JobPresenterOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#base = deps.currentBase();
  }

  cursorAt(position: FeedPosition | undefined): Cursor | undefined {
    if (!position) return this.#options.after;
    return formatCursor(this.#base, position.revision, position.isReplaying);
  }

  snapshot(change: JobFeedChange): JobEvent {
    this.#base = change.base;
    return change.replayEvent();
  }

  change(change: JobFeedChange): JobEvent {
    return change.event;
  }

  synced(revision: number, resumed: boolean): JobEvent {
    if (!resumed) this.#observeReplay();
    this.#base = this.#deps.currentBase();
    const cursor = formatCursor(this.#base, revision);
    return { kind: 'synced', revision, cursor, history: this.#options.history, resumed };
  }

  gap(gap: FeedGap): JobEvent {
    if (gap.reason === 'reset') {
      this.#base = this.#deps.currentBase();
      this.#replayAtMs = this.#deps.clock.monotonicMs();
    }
    return gap;
  }

  stale(stale: FeedStale): JobEvent {
    return stale;
  }

  live(revision: number): JobEvent {
    return { kind: 'live', revision, cursor: formatCursor(this.#base, revision) };
  }

  overflow(revision: number): SynclineError {
    const cursor = formatCursor(this.#base, revision);
    return new SynclineError(
      'overflow',
      'the subscriber was too slow and its buffer is full. Resume with `after` set to details.cursor, and ' +
        'read faster, allow a larger buffer or choose another policy of overflow.',
      { details: { cursor } },
    );
  }

  failure(error: SynclineError, position: FeedPosition | undefined): SynclineError {
    const { retryable, outcome } = error;
    const details = { ...error.details, cursor: this.cursorAt(position) };
    return new SynclineError(error.code, error.message, {
      retryable,
      outcome,
      details,
      cause: error,
    });
  }

  onOpen(): void {
    this.#replayAtMs = this.#deps.clock.monotonicMs();
  }

  onLive(oldest: JobFeedChange): void {
    const delayMs = this.#deps.clock.monotonicMs() - oldest.publishedAtMs;
    this.#deps.metrics.observe('syncline_jobs_live_delivery_seconds', delayMs / 1000);
  }

  onDrop(): void {
    const reason = this.#options.overflow;
    this.#deps.metrics.add('syncline_jobs_subscription_drops_total', 1, { reason });
  }

  onEnd(): void {
    this.#deps.onEnd();
  }

  /** A resume replays nothing. */
  #observeReplay(): void {
    const durationMs = this.#deps.clock.monotonicMs() - this.#replayAtMs;
    this.#deps.metrics.observe('syncline_jobs_replay_duration_seconds', durationMs / 1000);
  }
}
