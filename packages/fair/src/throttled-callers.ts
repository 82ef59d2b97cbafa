// The callers that are refused most, in bounded memory. When the list is full, all but the most refused callers
// are dropped, and a new caller starts from the highest count that was dropped, as in the Space-Saving
// algorithm (Metwally et al.). So a caller that is refused often is never missed, and a count is too high by at
// most the count that it started from. Dropping many at once makes a refusal cheap: the cost of the sort is
// spread over many new callers.
//
// Only refusals are counted, so an admitted request pays nothing. Counts halve at each window, so the list
// shows the present, not the history.
import { type FlowKey, hexOf } from './flow-key.js';
import { fairLimits } from './limits.js';

const CALLERS_MAX = fairLimits.throttledCallersMax.value;
const CALLERS_KEPT = fairLimits.throttledCallersKept.value;
const UNITS_MAX = fairLimits.throttledKeyUnitsMax.value;

export interface ThrottledCaller {
  /** As given; bytes as hexadecimal text. Truncated to 128 characters. */
  readonly key: string;
  /** Refusals, or would-be refusals in shadow mode; older windows count for less. */
  readonly throttled: number;
  /** The most by which `throttled` may be too high. */
  readonly errorMax: number;
}

export class ThrottledCallers {
  #counts = new Map<string, { throttled: number; errorMax: number }>();
  /** At least as high as the count of any caller that is not in the list. */
  #droppedMax = 0;

  note(key: FlowKey): void {
    const name = nameOf(key);
    const known = this.#counts.get(name);
    if (known !== undefined) {
      known.throttled += 1;
      return;
    }
    if (this.#counts.size === CALLERS_MAX) this.#drop();
    const errorMax = this.#droppedMax;
    this.#counts.set(name, { throttled: errorMax + 1, errorMax });
  }

  /** The `count` callers that are refused most, highest first. */
  top(count: number): readonly ThrottledCaller[] {
    const shown = this.#sorted().slice(0, Math.min(CALLERS_KEPT, Math.max(0, count)));
    return shown.map(([key, counts]) => ({ key, ...counts }));
  }

  /** A window has passed. */
  halve(): void {
    for (const [key, counts] of this.#counts) {
      counts.throttled = Math.floor(counts.throttled / 2);
      counts.errorMax = Math.floor(counts.errorMax / 2);
      if (counts.throttled === 0) this.#counts.delete(key);
    }
    this.#droppedMax = Math.floor(this.#droppedMax / 2);
  }

  #drop(): void {
    const sorted = this.#sorted();
    this.#droppedMax = sorted[CALLERS_KEPT]?.[1].throttled ?? 0;
    this.#counts = new Map(sorted.slice(0, CALLERS_KEPT));
  }

  #sorted() {
    return [...this.#counts].sort(([, left], [, right]) => right.throttled - left.throttled);
  }
}

function nameOf(key: FlowKey): string {
  return typeof key === 'string' ? key.slice(0, UNITS_MAX) : hexOf(key.subarray(0, UNITS_MAX / 2));
}
