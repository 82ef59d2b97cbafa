// Which callers are refused most, in bounded memory: the Space-Saving algorithm (Metwally et al.). When all places
// are taken, a new key takes the place of the one with the lowest count and continues from that count, so a key that
// is refused often is never missed, and a count is too high by at most the count that was replaced.
//
// Only refusals come here, so an admitted request pays nothing. Counts halve at each window: the list shows the
// present, not the history.
import type { FlowKey } from './flow-key.js';
import { fairLimits } from './limits.js';

const CALLERS_MAX = fairLimits.throttledCallersMax.value;
const UNITS_MAX = fairLimits.throttledKeyUnitsMax.value;

export interface ThrottledCaller {
  /** As it was given; bytes as hexadecimal text. Cut to 128 characters. */
  readonly key: string;
  /** Refusals, or in shadow mode what would have been; older windows count for less. */
  readonly throttled: number;
  /** By how much `throttled` may be too high. */
  readonly errorMax: number;
}

export class ThrottledCallers {
  readonly #counts = new Map<string, { throttled: number; errorMax: number }>();

  note(key: FlowKey): void {
    const name = nameOf(key);
    const known = this.#counts.get(name);
    if (known !== undefined) {
      known.throttled += 1;
      return;
    }
    const floor = this.#counts.size < CALLERS_MAX ? 0 : this.#replaceLowest();
    this.#counts.set(name, { throttled: floor + 1, errorMax: floor });
  }

  /** The `count` callers that are refused most, highest first. */
  top(count: number): readonly ThrottledCaller[] {
    return Array.from(this.#counts, ([key, counts]) => ({ key, ...counts }))
      .sort((left, right) => right.throttled - left.throttled)
      .slice(0, Math.max(0, count));
  }

  /** A window has passed. */
  fade(): void {
    for (const [key, counts] of this.#counts) {
      counts.throttled = Math.floor(counts.throttled / 2);
      counts.errorMax = Math.floor(counts.errorMax / 2);
      if (counts.throttled === 0) this.#counts.delete(key);
    }
  }

  #replaceLowest(): number {
    let lowestKey = '';
    let lowest = Number.POSITIVE_INFINITY;
    for (const [key, { throttled }] of this.#counts) {
      if (throttled >= lowest) continue;
      lowest = throttled;
      lowestKey = key;
    }
    this.#counts.delete(lowestKey);
    return lowest;
  }
}

function nameOf(key: FlowKey): string {
  return typeof key === 'string'
    ? key.slice(0, UNITS_MAX)
    : Buffer.from(key.subarray(0, UNITS_MAX / 2)).toString('hex');
}
