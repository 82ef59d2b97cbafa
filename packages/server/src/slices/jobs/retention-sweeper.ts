// Deletes jobs past their retention, once a minute while the server runs.
//
// A sweep that fails is told once, and once more when sweeps work again: a store that is out of reach for a
// night must not fill the log. The next one begins a minute after the last has ended, so they never overlap.
import { jobsLimits } from '@syncline/jobs';
import { type Clock, type Logger, SynclineError, type Timer } from '@syncline/kernel';

export interface RetentionSweeperDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Deletes what is due, and says how many that were. */
  readonly sweep: (signal: AbortSignal) => Promise<number>;
}

export class RetentionSweeper {
  readonly #deps: RetentionSweeperDeps;
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #isFailing = false;

  constructor(deps: RetentionSweeperDeps) {
    this.#deps = deps;
    this.#wait();
  }

  /** Resolves when a sweep that is under way has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#timer?.cancel();
    await this.#running;
  }

  #wait(): void {
    this.#timer = this.#deps.clock.setTimer(jobsLimits.retentionSweepMs.value, () => {
      this.#running = this.#sweep();
    });
  }

  async #sweep(): Promise<void> {
    const { logger, sweep } = this.#deps;
    try {
      const deleted = await sweep(this.#stopping.signal);
      if (deleted > 0) logger.info('jobs past retention deleted', { jobs: deleted });
      if (this.#isFailing) logger.info('retention works again');
      this.#isFailing = false;
    } catch (thrown) {
      if (this.#stopping.signal.aborted) return;
      if (!this.#isFailing) this.#tell(thrown);
      this.#isFailing = true;
    }
    if (!this.#stopping.signal.aborted) this.#wait();
  }

  #tell(thrown: unknown): void {
    const { logger } = this.#deps;
    const code = thrown instanceof SynclineError ? thrown.code : 'bug';
    logger.error('🔴 jobs past retention cannot be deleted', { code, error: thrown });
  }
}
