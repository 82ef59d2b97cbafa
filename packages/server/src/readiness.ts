// The readiness of the server: a list of named checks, with reasons.
//
// /readyz and gRPC health evaluate it on request. A timer also does so twice a second, to log changes, update the
// gauges and notify health watchers.
import type { Clock, Logger, Metrics, StorageHealth, Timer } from '@syncline/kernel';
import { serverLimits } from './limits.js';
import type { ServerMetricName } from './metrics-list.js';
import type { SliceHealth } from './slice.js';

export interface Check {
  /** `server`, `slice:<name>`, `storage:<name>`, or `data` once the data directory is gone. */
  readonly name: string;
  readonly ok: boolean;
  /** Only a restart can help: /healthz fails, too. */
  readonly isFatal: boolean;
  /** Why it fails; for a check that passes, a warning. */
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
  #dataProblem: () => string | undefined = () => undefined;
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

  /** `problem` returns why the data will not survive a restart. */
  watchData(problem: () => string | undefined): void {
    this.#dataProblem = problem;
  }

  checks(): readonly Check[] {
    const reason = this.#dataProblem();
    const data: Check[] =
      reason === undefined ? [] : [{ name: 'data', ok: false, isFatal: true, reason }];
    return [this.#serverCheck(), ...data, ...this.#slices.flatMap(checksOfSlice)];
  }

  isReady(): boolean {
    return this.checks().every((check) => check.ok);
  }

  /** False for an unknown slice. */
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

  /** Resolves when all checks pass for the first time, after that is logged. */
  whenReady(): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.watch(() => {
        if (!this.#wasReady) return;
        stop();
        resolve();
      });
    });
  }

  start(): void {
    this.evaluate();
    const { value } = serverLimits.readinessIntervalMs;
    this.#timer = this.#deps.clock.setTimer(value, () => this.start(), { unref: true });
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** Logs changes since the last call, updates the gauges and notifies the watchers. */
  evaluate(): void {
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

  /** During a shutdown the checks are expected to fail, so failures are not logged. */
  #log(check: string, ok: boolean, reason: string | undefined): void {
    if (ok) this.#deps.logger.debug('readiness check passed', { check });
    else if (!this.#deps.draining.aborted)
      this.#deps.logger.warn('readiness check failed', { check, reason });
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

/** With a full disk the node still serves reads, and writes resume when there is space, so it stays ready. */
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
