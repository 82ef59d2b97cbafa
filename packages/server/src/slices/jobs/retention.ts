// Retention in the server: deletes jobs past their retention, once a minute.
//
// Deleting cannot be undone, so the wall clock is not trusted to have moved ahead: a job's age is measured by the
// slowest reading of it since the start, and the first sweep waits until a machine that booted with a wrong clock has
// had time to correct it. A clock that jumps ahead by days and back deletes nothing.
//
// A failing sweep is logged once, and once more when sweeps work again: a store that is unreachable for a night must
// not fill the log. A sweep starts a minute after the last has ended, so they never overlap.
import { collectJobs, type JobStore, jobsLimits } from '@syncline/jobs';
import { type Clock, type Logger, SynclineError, silentLogger, type Timer } from '@syncline/kernel';
import { parseDuration } from '../../config/duration.js';
import type { ServerConfig } from '../../config/server-config.js';

export interface RetentionDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: JobStore;
}

export class RetentionSweeper {
  readonly #deps: RetentionDeps;
  readonly #policy: Parameters<typeof collectJobs>[1];
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #isFailing = false;
  /** Jobs whose failed deletion was logged. */
  #logged: ReadonlySet<string> = new Set();
  /** Wall clock less monotonic clock: the lowest seen. */
  #offsetMs = Number.POSITIVE_INFINITY;

  constructor(deps: RetentionDeps, settings: ServerConfig['jobs']['retention']) {
    this.#deps = deps;
    this.#policy = {
      finishedMs: parseDuration(settings.finished),
      markedMs: parseDuration(settings.marked),
      idleMs: parseDuration(settings.idle),
      signal: this.#stopping.signal,
    };
    this.#nowMs();
    this.#wait(jobsLimits.retentionGraceMs.value);
  }

  /** Resolves when a sweep in progress has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#timer?.cancel();
    await this.#running;
  }

  #wait(delayMs: number): void {
    this.#timer = this.#deps.clock.setTimer(delayMs, () => {
      this.#running = this.#sweep();
    });
  }

  async #sweep(): Promise<void> {
    const { logger, store } = this.#deps;
    const nowMs = this.#nowMs();
    try {
      const { deleted, failed } = await collectJobs(store, this.#policy, {
        clock: { nowMs: () => nowMs },
        logger: { ...silentLogger, info: (message, fields) => logger.info(message, fields) },
      });
      if (deleted.length > 0) logger.info('expired jobs deleted', { jobs: deleted.length });
      if (this.#isFailing) logger.info('expired jobs can be deleted again');
      this.#isFailing = false;
      for (const { jobId, error } of failed) {
        if (this.#logged.has(jobId)) continue; // one line per job, not one a minute
        logger.warn('🟡 an expired job could not be deleted', { jobId, error: error.code });
      }
      this.#logged = new Set(failed.map(({ jobId }) => jobId));
    } catch (thrown) {
      if (this.#stopping.signal.aborted) return;
      const code = thrown instanceof SynclineError ? thrown.code : 'bug';
      if (!this.#isFailing)
        logger.error('🔴 expired jobs cannot be deleted', { code, error: thrown });
      this.#isFailing = true;
    }
    if (!this.#stopping.signal.aborted) this.#wait(jobsLimits.retentionSweepMs.value);
  }

  #nowMs(): number {
    const { clock } = this.#deps;
    this.#offsetMs = Math.min(this.#offsetMs, clock.nowMs() - clock.monotonicMs());
    return clock.monotonicMs() + this.#offsetMs;
  }
}
