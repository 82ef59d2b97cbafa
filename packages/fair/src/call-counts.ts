// Counts decisions and outcomes as plain numbers, and reports new ones to the metrics port every 100 ms: a
// label lookup for each call would take longer than the decision.
import type { Clock, Labels, Metrics, Timer } from '@syncline/kernel';
import type { FairMetricName } from './metrics-list.js';

const PUBLISH_EVERY_MS = 100;

/** The counters, by their index. */
export const CALL = {
  admitted: 0,
  throttled: 1,
  shadow: 2,
  allowed: 3,
  untracked: 4,
  success: 5,
  failure: 6,
  ignore: 7,
} as const;

export type Call = (typeof CALL)[keyof typeof CALL];

interface Series {
  readonly name: FairMetricName;
  readonly labels: Labels;
}

export interface CallCountsDeps {
  readonly clock: Clock;
  readonly metrics: Metrics<FairMetricName>;
}

export class CallCounts {
  readonly #deps: CallCountsDeps;
  readonly #series: readonly Series[];
  readonly #counts = new Float64Array(Object.keys(CALL).length);
  #timer: Timer | undefined;

  constructor(deps: CallCountsDeps, tracker: string) {
    this.#deps = deps;
    this.#series = Object.entries(CALL).map(([label, at]): Series => {
      const isOutcome = at >= CALL.success;
      return isOutcome
        ? { name: 'syncline_fair_outcomes_total', labels: { tracker, outcome: label } }
        : { name: 'syncline_fair_decisions_total', labels: { tracker, decision: label } };
    });
  }

  /** Hot. */
  add(call: Call): void {
    this.#counts[call] = (this.#counts[call] ?? 0) + 1;
    if (this.#timer === undefined) this.#publishSoon();
  }

  /** Reports everything not reported yet. */
  publish(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#series.forEach(({ name, labels }, at) => {
      const count = this.#counts[at] ?? 0;
      this.#counts[at] = 0;
      if (count > 0) this.#deps.metrics.add(name, count, labels);
    });
  }

  #publishSoon(): void {
    const { clock } = this.#deps;
    this.#timer = clock.setTimer(PUBLISH_EVERY_MS, () => this.publish(), { unref: true });
  }
}
