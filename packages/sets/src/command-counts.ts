// How often each command ran. Counted in plain numbers and handed to the metrics once a second: a label
// object per command would cost more than the command's lookup.
import type { Clock, Metrics, Timer } from '@syncline/kernel';

const HAND_OVER_MS = 1_000;

interface CommandCount {
  readonly labels: { readonly command: string };
  count: number;
}

export interface CommandCountsDeps {
  readonly clock: Clock;
  readonly metrics: Metrics;
}

export class CommandCounts {
  readonly #deps: CommandCountsDeps;
  readonly #counts = new Map<string, CommandCount>();
  /** The command of the last call: mostly the next one has the same. */
  #last: CommandCount = { labels: { command: '' }, count: 0 };
  #total = 0;
  #timer: Timer | undefined;

  constructor(deps: CommandCountsDeps) {
    this.#deps = deps;
  }

  /** Commands since the start. */
  get total(): number {
    return this.#total;
  }

  /** `name` comes from the command table, so there are few of them. */
  add(name: string): void {
    this.#total += 1;
    if (this.#last.labels.command !== name) this.#last = this.#countOf(name);
    this.#last.count += 1;
    this.#timer ??= this.#plan();
  }

  /** Hands over what was counted since, and ends the timer. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const entry of this.#counts.values()) {
      if (entry.count === 0) continue;
      this.#deps.metrics.add('syncline_sets_commands_total', entry.count, entry.labels);
      entry.count = 0;
    }
  }

  #countOf(name: string): CommandCount {
    const found = this.#counts.get(name);
    if (found !== undefined) return found;
    const made = { labels: { command: name }, count: 0 };
    this.#counts.set(name, made);
    return made;
  }

  #plan(): Timer {
    return this.#deps.clock.setTimer(HAND_OVER_MS, () => this.flush(), { unref: true });
  }
}
