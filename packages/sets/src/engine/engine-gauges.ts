// What an engine shows in /metrics: gauges that follow its changes, a few times per second at most.
import type { Clock, Metrics, Timer } from '@syncline/kernel';
import type { SegmentLog } from '@syncline/kernel/node';
import type { Checkpoints } from './checkpoints.js';
import type { SetsState } from './sets-state.js';
import type { Turns } from './turns.js';

/** How often gauges follow while something is written, at most. */
const GAUGES_MS = 100;
/** How often they follow while nothing is: the last checkpoint grows older, and pins close. */
const IDLE_GAUGES_MS = 1_000;

export interface EngineGaugesDeps {
  readonly state: SetsState;
  readonly turns: Turns;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly engine: {
    readonly log: SegmentLog | undefined;
    readonly checkpoints: Checkpoints | undefined;
  };
}

export class EngineGauges {
  readonly #deps: EngineGaugesDeps;
  #reportedMs = Number.NEGATIVE_INFINITY;
  #localCount = 0;
  #foreignCount = 0;
  #peakBytes = 0;
  #timer: Timer | undefined;

  constructor(deps: EngineGaugesDeps) {
    this.#deps = deps;
  }

  get peakBytes(): number {
    this.#peakBytes = Math.max(this.#peakBytes, this.#deps.state.usedBytes);
    return this.#peakBytes;
  }

  reportIfDue(): boolean {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#reportedMs < GAUGES_MS) return false;
    this.#reportedMs = nowMs;
    this.report();
    return true;
  }

  /** Reports now, and from now on also while nothing is written. */
  watch(): void {
    this.report();
    const again = () => this.watch();
    this.#timer = this.#deps.clock.setTimer(IDLE_GAUGES_MS, again, { unref: true });
  }

  stop(): void {
    this.#timer?.cancel();
  }

  report(): void {
    const { state, turns, clock, metrics, engine } = this.#deps;
    metrics.set('syncline_sets_live_dots', state.digest.liveDots);
    metrics.set('syncline_sets_sets', state.sets.filledCount);
    metrics.set('syncline_sets_memory_bytes', state.usedBytes);
    this.#peakBytes = Math.max(this.#peakBytes, state.usedBytes);
    metrics.set('syncline_sets_pins', state.pins.count);
    metrics.set('syncline_sets_pin_entries', state.pins.entries);
    metrics.set('syncline_sets_log_bytes', engine.log?.bytes ?? 0);
    const last = engine.checkpoints?.last;
    metrics.set('syncline_sets_checkpoint_bytes', last?.bytes ?? 0);
    const ageMs = last === undefined || last.number === 0 ? 0 : clock.nowMs() - last.takenMs;
    metrics.set('syncline_sets_checkpoint_age_seconds', Math.max(0, ageMs) / 1000);
    this.#countOperations(turns.operationsCount - this.#localCount, 'local');
    this.#countOperations(turns.foreignCount - this.#foreignCount, 'peer');
    this.#localCount = turns.operationsCount;
    this.#foreignCount = turns.foreignCount;
  }

  #countOperations(count: number, origin: 'local' | 'peer'): void {
    if (count > 0) this.#deps.metrics.add('syncline_sets_operations_total', count, { origin });
  }
}
