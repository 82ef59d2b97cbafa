// Warnings of a run, logged once each time a condition begins: a pipeline that had already finished, checkpoints that
// take longer than their interval, and a wall clock that jumps back.
import type { Clock, Logger } from '@syncline/kernel';
import type { CheckpointInfo } from './checkpoint.js';
import type { PipelineProgress } from './progress.js';
import type { RunDeps } from './run-deps.js';

/** Smaller corrections of the clock do not cause a warning. */
const CLOCK_BACK_MS = 1_000;

export class RunWarnings {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #notices: Logger;
  readonly #everyMs: number;
  #isSlow = false;
  #wallMs = 0;

  constructor({ clock, logger, notices, settings }: RunDeps) {
    this.#clock = clock;
    this.#logger = logger;
    this.#notices = notices;
    this.#everyMs = settings.everyMs;
  }

  /** The start finds that an earlier run has read the whole input. */
  alreadyFinished({ pipeline, epoch }: PipelineProgress): void {
    this.#notices.warn(
      'the pipeline had already finished; its input is not read again. Use follow: true for files that grow, ' +
        'or a new directory to start over',
      { pipeline, epoch },
    );
  }

  /** `sinksMs` is how long the sinks took after the commit point. */
  checkpointed({ epoch, tookMs, commitMs }: CheckpointInfo, sinksMs: number): void {
    const everyMs = this.#everyMs;
    const isSlow = tookMs + sinksMs > everyMs;
    if (isSlow && !this.#isSlow) {
      const steps = { encode: tookMs - commitMs, commit: commitMs, sinks: sinksMs };
      const [slowest] = Object.entries(steps).sort(([, left], [, right]) => right - left);
      const fields = { epoch, everyMs, tookMs: tookMs + sinksMs, slowest: slowest?.[0] ?? '' };
      this.#logger.warn('checkpoints take longer than their interval', fields);
    }
    this.#isSlow = isSlow;
  }

  /** The wall-clock time. Warns if it has jumped back. */
  readWallMs(): number {
    const nowMs = this.#clock.nowMs();
    const byMs = this.#wallMs - nowMs;
    this.#wallMs = nowMs;
    if (byMs > CLOCK_BACK_MS) {
      this.#logger.warn('wall clock jumped back; clock timers wait', { byMs });
    }
    return nowMs;
  }
}
