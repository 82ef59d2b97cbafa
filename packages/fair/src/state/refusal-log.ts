// Logs that instances of a tracker are refused. They retry every 30 s, and anyone may send a hello, so it is
// one line per tracker and minute; the metric counts all.
import type { Clock, Logger, SynclineError } from '@syncline/kernel';
import { fairLimits } from '../limits.js';

const INTERVAL_MS = 60_000;

export class RefusalLog {
  readonly #deps: { readonly clock: Clock; readonly logger: Logger };
  readonly #toldAtMs = new Map<string, number>();

  constructor(deps: { readonly clock: Clock; readonly logger: Logger }) {
    this.#deps = deps;
  }

  refused(tracker: string, { code, message, details }: SynclineError): void {
    const { clock, logger } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (nowMs - (this.#toldAtMs.get(tracker) ?? -INTERVAL_MS) < INTERVAL_MS) return;
    if (this.#toldAtMs.size >= fairLimits.trackersMax.value) this.#toldAtMs.clear();
    this.#toldAtMs.set(tracker, nowMs);
    logger.warn('an instance was refused; it decides on its own', {
      tracker,
      code,
      field: details['field'],
      reason: message,
    });
  }
}
