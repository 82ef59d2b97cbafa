// How often each command ran. Counted in plain numbers and handed to the metrics once a second: a label
// object per command would cost more than the command's lookup.
import type { Clock, Metrics, Timer } from '@syncline/kernel';

const HAND_OVER_MS = 1_000;

export interface CommandCountsDeps {
  readonly clock: Clock;
  readonly metrics: Metrics;
}

export class CommandCounts {
  /** Since the start. */
  total = 0;
  readonly #deps: CommandCountsDeps;
  readonly #counts = new Map<string, number>();
  /** Of the current run: the next command usually has the same name. */
  #name = '';
  #count = 0;
  #timer: Timer | undefined;

  constructor(deps: CommandCountsDeps) {
    this.#deps = deps;
  }

  /** `name` comes from the command table, so there are few of them. */
  add(name: string): void {
    if (this.#name !== name) this.#endRun(name);
    this.total += 1;
    this.#count += 1;
    this.#timer ??= this.#deps.clock.setTimer(HAND_OVER_MS, () => this.flush(), { unref: true });
  }

  /** Reports what was counted since the last time, and stops the timer. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#endRun('');
    for (const [command, count] of this.#counts)
      this.#deps.metrics.add('syncline_sets_commands_total', count, { command });
    this.#counts.clear();
  }

  #endRun(next: string): void {
    if (this.#count > 0)
      this.#counts.set(this.#name, (this.#counts.get(this.#name) ?? 0) + this.#count);
    this.#name = next;
    this.#count = 0;
  }
}
