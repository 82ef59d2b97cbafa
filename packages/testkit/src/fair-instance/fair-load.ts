// Steady load on a tracker: as many decisions as fit into real time, with some keys refused more often by the
// resource behind it. Pauses are compensated for, so the count shows whether decisions continued.
import type { FairTracker } from '@syncline/fair';
import type { LoadFigures } from './instance-lines.js';

const TICK_MS = 5;
const KEYS_COUNT = 40;
/** The resource refuses every fifth request with these keys. */
const HOT_KEYS_COUNT = 4;
const HOT_FAILURE_EVERY = 5;
const SAMPLES_MAX = 200_000;

export const loadKeys: readonly string[] = Array.from(
  { length: KEYS_COUNT },
  (_, index) => `load-${index}`,
);

export class FairLoad {
  readonly #tracker: FairTracker;
  readonly #perMs: number;
  readonly #samplesUs = new Float64Array(SAMPLES_MAX);
  #requests = 0;
  #decisions = 0;
  #throttled = 0;
  #sinceMs = performance.now();
  #lastTickMs = performance.now();
  #longestPauseMs = 0;

  constructor(tracker: FairTracker, decisionsPerSecond: number) {
    this.#tracker = tracker;
    this.#perMs = decisionsPerSecond / 1_000;
  }

  start(): void {
    setInterval(() => this.#tick(), TICK_MS);
  }

  /** Returns the figures so far, and starts counting again. */
  figures(): LoadFigures {
    const samples = this.#samplesUs.subarray(0, Math.min(this.#decisions, SAMPLES_MAX)).toSorted();
    const at = (part: number) => samples[Math.floor(samples.length * part)] ?? 0;
    const figures = {
      decisions: this.#decisions,
      throttled: this.#throttled,
      elapsedMs: performance.now() - this.#sinceMs,
      registerP50Us: at(0.5),
      registerP99Us: at(0.99),
      longestPauseMs: this.#longestPauseMs,
    };
    this.#decisions = 0;
    this.#throttled = 0;
    this.#longestPauseMs = 0;
    this.#sinceMs = performance.now();
    return figures;
  }

  #tick(): void {
    const nowMs = performance.now();
    this.#longestPauseMs = Math.max(this.#longestPauseMs, nowMs - this.#lastTickMs);
    this.#lastTickMs = nowMs;
    const due = (nowMs - this.#sinceMs) * this.#perMs;
    while (this.#decisions < due) this.#serve();
  }

  #serve(): void {
    const index = this.#requests % KEYS_COUNT;
    const key = loadKeys[index] ?? '';
    this.#requests += 1;
    const beforeMs = performance.now();
    const { throttled } = this.#tracker.register(key);
    this.#samplesUs[this.#decisions % SAMPLES_MAX] = (performance.now() - beforeMs) * 1_000;
    this.#decisions += 1;
    if (throttled) {
      this.#throttled += 1;
      return;
    }
    const isRefused = index < HOT_KEYS_COUNT && this.#requests % HOT_FAILURE_EVERY === 0;
    this.#tracker.report(key, isRefused ? 'failure' : 'success');
  }
}
