// Lifecycle: parts start one after another and stop in the reverse order, within one grace period.
//
// A composition root registers each part as soon as it has started. If a later part fails to start, those
// before it are stopped again, so that a failed start leaves nothing open.
//
// K5  Parts stop in the reverse order of their start, each once, even if others fail to stop.
import type { Clock } from './clock.js';
import { SynclineError } from './error.js';
import type { Logger } from './logger.js';

export interface LifecyclePart {
  readonly name: string;
  /** Resolves when the part is running. If it rejects, the part has released its resources. */
  start(): Promise<void>;
  /**
   * Resolves when nothing of the part is running any more and everything it promised is stored. The signal fires at
   * the end of the grace period: from then on, abandon what is in flight, but still release everything.
   */
  stop(signal: AbortSignal): Promise<void>;
}

export interface StopReport {
  /** False when the grace period ended before everything had stopped by itself. */
  readonly inTime: boolean;
  readonly failures: readonly { readonly part: string; readonly error: Error }[];
}

export interface LifecycleDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Lifecycle {
  readonly #deps: LifecycleDeps;
  readonly #started: LifecyclePart[] = [];
  #stopping: Promise<StopReport> | undefined;

  constructor(deps: LifecycleDeps) {
    this.#deps = deps;
  }

  /** Starts one part. If it fails, all parts before it are stopped within `graceMs`, then it throws. */
  async start(part: LifecyclePart, graceMs: number): Promise<void> {
    if (this.#stopping) throw new SynclineError('closed', `cannot start ${part.name}: stopping`);
    try {
      await part.start();
    } catch (thrown) {
      await this.stop(graceMs);
      throw thrown;
    }
    this.#started.push(part);
    // A stop that began in the meantime has not seen this part, so stop it here, then report it.
    if (this.#stopping) {
      await this.stop(graceMs);
      throw new SynclineError('closed', `${part.name} was stopped while starting`);
    }
  }

  /** Stops everything. A second call waits for the first one, then stops what was added in between. */
  async stop(graceMs: number): Promise<StopReport> {
    const earlier = this.#stopping;
    const run = (async () => {
      await earlier;
      return this.#stopAll(graceMs);
    })();
    this.#stopping = run;
    return run;
  }

  async #stopAll(graceMs: number): Promise<StopReport> {
    const grace = new AbortController();
    const timer = this.#deps.clock.setTimer(graceMs, () => grace.abort());
    const failures: { part: string; error: Error }[] = [];
    for (let part = this.#started.pop(); part; part = this.#started.pop()) {
      try {
        await part.stop(grace.signal);
      } catch (thrown) {
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        failures.push({ part: part.name, error });
        this.#deps.logger.error('failed to stop', { part: part.name, error: error.message });
      }
    }
    timer.cancel();
    return { inTime: !grace.signal.aborted, failures };
  }
}
