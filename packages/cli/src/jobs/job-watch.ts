// The state of a watched job: its events folded into progress, the state of the connection, and how it ended.
import type { JobEvent, JobFold, Scope } from '@syncline/jobs';
import type { Clock } from '@syncline/kernel';
import type { FollowItem } from './follow-job.js';
import type { Connection, WatchPicture } from './watch-view.js';

/** `settled`: no cell is running or unstarted, but some did not finish. `marked`: the job is marked as deleted. */
export type Ending = 'finished' | 'settled' | 'marked' | 'deleted';

export class JobWatch {
  readonly #clock: Clock;
  readonly #fold: JobFold;
  readonly #scope: Scope;
  /** The server, or its store, is unreachable: the data is getting old. */
  #trouble: Connection | undefined;
  #signMs: number;

  constructor(deps: { readonly clock: Clock; readonly fold: JobFold }, scope: Scope) {
    this.#clock = deps.clock;
    this.#fold = deps.fold;
    this.#scope = scope;
    this.#signMs = deps.clock.monotonicMs();
  }

  /** Returns how the job ended, or undefined if it has not. */
  take(item: FollowItem): Ending | undefined {
    if (item.kind === 'down') {
      this.#trouble = { kind: 'down', attempt: item.event.attempt, reason: item.reason };
      return undefined;
    }
    if (this.#trouble?.kind === 'down') this.#trouble = undefined;
    if (this.#trouble === undefined) this.#signMs = this.#clock.monotonicMs();
    let ending: Ending | undefined;
    for (const event of item.events) {
      this.#fold.apply(event);
      this.#noteReach(event);
      if (event.kind === 'gap' && event.reason === 'deleted') return 'deleted';
      // A mixture may look finished; `live`, within 10 s of the last change, tells whether it is.
      const { isWhole, mayBeMixture } = this.#fold;
      if (isWhole && !mayBeMixture && mayEnd(event)) ending ??= this.#ending();
    }
    return ending;
  }

  picture(): WatchPicture {
    const { isWhole, statesCount, job, lost } = this.#fold;
    const connected: Connection = isWhole
      ? { kind: 'live' }
      : { kind: 'loading', states: statesCount };
    return {
      job,
      lost,
      scope: this.#scope,
      progress: this.#fold.progress(),
      connection: this.#trouble ?? connected,
      ageMs: this.#clock.monotonicMs() - this.#signMs,
    };
  }

  /** Stays set until `live`, whatever else arrives: the server cannot reach its store. */
  #noteReach(event: JobEvent): void {
    const nowMs = this.#clock.monotonicMs();
    if (event.kind === 'stale') {
      this.#trouble = { kind: 'stale', attempt: event.attempt };
      this.#signMs = nowMs - Math.max(0, this.#clock.nowMs() - event.sinceMs);
    } else if (event.kind === 'live') {
      this.#trouble = undefined;
      this.#signMs = nowMs;
    }
  }

  #ending(): Ending | undefined {
    const { cells } = this.#fold.progress();
    if (cells.finished === cells.total) return 'finished';
    if (cells.running === 0 && cells.notStarted === 0) return 'settled';
    return this.#fold.job.deletedAtMs === undefined ? undefined : 'marked';
  }
}

/** A running state cannot end a job, so those are not checked. */
function mayEnd(event: JobEvent): boolean {
  if (event.kind !== 'change' && event.kind !== 'snapshot') return true;
  const { statusClass } = event.state;
  return statusClass !== 'running' && statusClass !== 'not-started';
}
