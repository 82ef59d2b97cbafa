// Whether the server can do its work, as a list of named checks with reasons.
//
// /readyz and gRPC health evaluate it on request. In addition a timer does so twice a second, so that each
// change is logged, the gauges are right and health watchers are notified.
import type { Clock, Logger, Metrics, StorageHealth, Timer } from '@syncline/kernel';
import { serverLimits } from './limits.js';
import type { ServerMetricName } from './metrics-list.js';
import type { SliceHealth } from './slice.js';

export interface Check {
  /** `server`, `slice:<name>` or `storage:<name>`. */
  readonly name: string;
  readonly ok: boolean;
  /** Lasts until a restart: /healthz fails too. */
  readonly isFatal: boolean;
  /** Why it fails; or, for a check that passes, a remark. */
  readonly reason?: string;
}

/** What a slice contributes to the checks. */
export interface CheckedSlice {
  readonly name: string;
  health(): SliceHealth;
  /** Undefined for a slice without a store. */
  storageHealth(): StorageHealth | undefined;
}

export interface ReadinessDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics<ServerMetricName>;
  readonly draining: AbortSignal;
}

export class Readiness {
  readonly #deps: ReadinessDeps;
  readonly #slices: CheckedSlice[] = [];
  readonly #seen = new Map<string, boolean>();
  readonly #watchers = new Set<() => void>();
  #timer: Timer | undefined;
  #wasReady = false;

  constructor(deps: ReadinessDeps) {
    this.#deps = deps;
  }

  addSlice(slice: CheckedSlice): void {
    this.#slices.push(slice);
  }

  checks(): readonly Check[] {
    return [this.#serverCheck(), ...this.#slices.flatMap(checksOfSlice)];
  }

  isReady(): boolean {
    return this.checks().every((check) => check.ok);
  }

  /** Whether a slice can serve; an unknown slice cannot. */
  isSliceReady(name: string): boolean {
    const slice = this.#slices.find((candidate) => candidate.name === name);
    if (slice === undefined || this.#deps.draining.aborted) return false;
    return checksOfSlice(slice).every((check) => check.ok);
  }

  /** Calls back when a check may have changed. Returns a function that unsubscribes. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  start(): void {
    this.look();
    const { value } = serverLimits.readinessIntervalMs;
    this.#timer = this.#deps.clock.setTimer(value, () => this.start(), { unref: true });
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** Compares with the previous result, then updates the log, the gauges and the watchers. */
  look(): void {
    let hasChanged = false;
    const checks = this.checks();
    for (const { name, ok, isFatal, reason } of checks) {
      const before = this.#seen.get(name);
      if (before === ok) continue;
      hasChanged = true;
      this.#seen.set(name, ok);
      this.#deps.metrics.set('syncline_server_ready', ok ? 1 : 0, { check: name });
      if (ok || isFatal || before !== undefined) this.#log(name, ok, reason);
      else this.#deps.logger.info('not ready yet', { check: name, reason });
    }
    if (!hasChanged) return;
    const isReady = checks.every(({ ok }) => ok);
    if (isReady && !this.#wasReady) this.#deps.logger.info('server ready');
    this.#wasReady = isReady;
    for (const watcher of this.#watchers) watcher();
  }

  /** During a stop the checks are expected to fail, so that is not logged. */
  #log(check: string, ok: boolean, reason: string | undefined): void {
    if (ok) this.#deps.logger.debug('check holds', { check });
    else if (!this.#deps.draining.aborted) this.#deps.logger.warn('check fails', { check, reason });
  }

  #serverCheck(): Check {
    if (!this.#deps.draining.aborted) return { name: 'server', ok: true, isFatal: false };
    return { name: 'server', ok: false, isFatal: false, reason: 'the server is stopping' };
  }
}

function checksOfSlice(slice: CheckedSlice): readonly Check[] {
  const storage = slice.storageHealth();
  const own = sliceCheck(slice);
  return storage === undefined ? [own] : [own, storageCheck(`storage:${slice.name}`, storage)];
}

function sliceCheck(slice: CheckedSlice): Check {
  const name = `slice:${slice.name}`;
  const health = slice.health();
  if (health.kind === 'ready') {
    const { reason } = health;
    return { name, ok: true, isFatal: false, ...(reason === undefined ? {} : { reason }) };
  }
  return { name, ok: false, isFatal: health.kind === 'failed', reason: health.reason };
}

/** A full disk still answers reads, and writing resumes with room: the node stays in service. */
function storageCheck(name: string, health: StorageHealth): Check {
  switch (health.kind) {
    case 'ok':
      return { name, ok: true, isFatal: false };
    case 'full':
      return { name, ok: true, isFatal: false, reason: health.reason };
    case 'reopening':
      return { name, ok: false, isFatal: false, reason: 'the store is being reopened' };
    case 'failed':
      return { name, ok: false, isFatal: true, reason: health.reason };
    case 'closed':
      return { name, ok: false, isFatal: false, reason: 'the store is closed' };
  }
}
