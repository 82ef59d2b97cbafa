// Connections refused before the peer was authenticated: counted, and logged once a minute per address, so that
// a misconfigured node or a scanner does not fill the log.
import type { Address, Clock, Logger, Metrics } from '@syncline/kernel';
import type { CloseCode } from './frame-codec.js';
import { meshLimits } from './limits.js';
import type { meshMetrics } from './metrics-list.js';

export interface RefusalLogDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics<keyof typeof meshMetrics>;
}

const authFailures: ReadonlySet<CloseCode> = new Set(['cluster', 'refused']);
/** Independent of the peer. */
const unlogged: ReadonlySet<CloseCode> = new Set(['duplicate', 'shutdown']);

export class RefusalLog {
  readonly #deps: RefusalLogDeps;
  /** By address; the oldest first. */
  readonly #loggedMs = new Map<string, number>();

  constructor(deps: RefusalLogDeps) {
    this.#deps = deps;
  }

  add({ host }: Address, code: CloseCode, reason: string): void {
    const { clock, logger, metrics } = this.#deps;
    if (unlogged.has(code)) return;
    if (authFailures.has(code)) metrics.add('syncline_mesh_auth_failures_total');
    const nowMs = clock.monotonicMs();
    const loggedMs = this.#loggedMs.get(host);
    if (loggedMs !== undefined && nowMs - loggedMs < meshLimits.refusalLogIntervalMs.value) return;
    logger.warn('mesh connection refused', { address: host, code, reason });
    this.#loggedMs.delete(host);
    this.#loggedMs.set(host, nowMs);
    if (this.#loggedMs.size <= meshLimits.refusalAddressesMax.value) return;
    for (const oldest of this.#loggedMs.keys()) {
      this.#loggedMs.delete(oldest);
      return;
    }
  }
}
