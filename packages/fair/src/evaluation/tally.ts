// What each client requested and was served, in bins of 5 seconds: fine enough for a chart, and six of them are
// a window of the windowed index.
import { clientIds, type Scenario } from './scenario.js';

/** Divides the 30 s of a window, and the duration of every scenario. */
const BIN_SECONDS = 5;

export interface Usage {
  /** Per client, in the order of `clientIds`. */
  readonly wants: readonly number[];
  readonly gains: readonly number[];
}

export class Tally {
  failures = 0;
  throttled = 0;
  /** When the trackers went from one window to the next; undefined if they did not. */
  rotatedAtSeconds: number | undefined;
  readonly scenario: Scenario;
  readonly #clientsCount: number;
  readonly #wants: Uint32Array;
  readonly #gains: Uint32Array;

  constructor(scenario: Scenario) {
    const bins = Math.ceil(scenario.durationSeconds / BIN_SECONDS);
    this.scenario = scenario;
    this.#clientsCount = clientIds(scenario).length;
    this.#wants = new Uint32Array(bins * this.#clientsCount);
    this.#gains = new Uint32Array(bins * this.#clientsCount);
  }

  countRequest(client: number, atNs: number): void {
    const at = this.#at(client, atNs);
    this.#wants[at] = (this.#wants[at] ?? 0) + 1;
  }

  countSuccess(client: number, atNs: number): void {
    const at = this.#at(client, atNs);
    this.#gains[at] = (this.#gains[at] ?? 0) + 1;
  }

  total(): Usage {
    return this.#sum(0, Number.POSITIVE_INFINITY);
  }

  /** A part of the run; both bounds are multiples of 5. */
  between(fromSeconds: number, toSeconds: number): Usage {
    return this.#sum(fromSeconds / BIN_SECONDS, toSeconds / BIN_SECONDS);
  }

  /** One entry per `seconds` of the scenario, a multiple of 5. */
  windows(seconds: number): readonly Usage[] {
    const { durationSeconds } = this.scenario;
    const bins = seconds / BIN_SECONDS;
    return Array.from({ length: Math.ceil(durationSeconds / seconds) }, (_, window) =>
      this.#sum(window * bins, (window + 1) * bins),
    );
  }

  #sum(fromBin: number, toBin: number): Usage {
    const wants = new Array<number>(this.#clientsCount).fill(0);
    const gains = new Array<number>(this.#clientsCount).fill(0);
    const end = Math.min(toBin * this.#clientsCount, this.#wants.length);
    for (let at = fromBin * this.#clientsCount; at < end; at += 1) {
      const client = at % this.#clientsCount;
      wants[client] = (wants[client] ?? 0) + (this.#wants[at] ?? 0);
      gains[client] = (gains[client] ?? 0) + (this.#gains[at] ?? 0);
    }
    return { wants, gains };
  }

  #at(client: number, atNs: number): number {
    return Math.floor(atNs / (BIN_SECONDS * 1e9)) * this.#clientsCount + client;
  }
}
