// Renews the lease of a task every third of its time, so that two renewals may fail before it is lost.
//
// A renewal that fails is tried again within its third, and then at the next one: the task may be fine though
// the store is out of reach. Nothing that happens here reaches the process, except that a newer claim stops it.
import { type Clock, type Logger, SynclineError, type Timer } from '@syncline/kernel';

export interface HeartbeatDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** One renewal, with its retries. */
  renew(timeoutMs: number): Promise<unknown>;
}

const RENEWALS_PER_TTL = 3;

export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  readonly #everyMs: number;
  #timer: Timer | undefined;
  #beating: Promise<void> | undefined;
  #isStopped = false;
  #failures = 0;

  constructor(deps: HeartbeatDeps, options: { readonly ttlMs: number }) {
    this.#deps = deps;
    this.#everyMs = options.ttlMs / RENEWALS_PER_TTL;
    this.#arm(this.#everyMs);
  }

  /** No timer is left; resolves when a renewal under way has ended, too. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#beating;
  }

  /** It does not keep the process alive: work does. */
  #arm(delayMs: number): void {
    if (this.#isStopped) return;
    const beat = () => {
      this.#beating = this.#beat();
    };
    this.#timer = this.#deps.clock.setTimer(delayMs, beat, { unref: true });
  }

  async #beat(): Promise<void> {
    const { clock, renew } = this.#deps;
    const startMs = clock.monotonicMs();
    try {
      await renew(this.#everyMs);
      this.#noteSuccess();
    } catch (thrown) {
      this.#noteFailure(thrown);
    }
    this.#arm(Math.max(0, startMs + this.#everyMs - clock.monotonicMs()));
  }

  #noteSuccess(): void {
    if (this.#failures > 0) {
      this.#deps.logger.info('the lease is renewed again', { failures: this.#failures });
    }
    this.#failures = 0;
  }

  #noteFailure(thrown: unknown): void {
    const code = thrown instanceof SynclineError ? thrown.code : String(thrown);
    if (code === 'fenced') this.#isStopped = true;
    if (this.#isStopped) return;
    this.#failures += 1;
    if (this.#failures > 1) return; // one line per change
    this.#deps.logger.warn('🟡 the lease could not be renewed', { error: code });
  }
}
