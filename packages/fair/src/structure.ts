// Levels times columns of cells, in typed arrays: a throttling probability and the time of its last
// change. A seed names the structure; it is the start of the time window that it belongs to.
//
// F3  Every probability is finite and in [0, 1].
import { assert } from '@syncline/kernel';
import { type Decay, decayed } from './decay.js';
import type { KeyHash, WindowSalt } from './key-hash.js';

export class Structure {
  readonly #decay: Decay;
  readonly #probabilities: Float64Array;
  /** Monotonic ms; -Infinity in a cell that was never touched. */
  readonly #times: Float64Array;
  seed = 0;
  salt: WindowSalt = new Uint32Array(4);

  constructor(cellsCount: number, decay: Decay) {
    this.#decay = decay;
    this.#probabilities = new Float64Array(cellsCount);
    this.#times = new Float64Array(cellsCount).fill(Number.NEGATIVE_INFINITY);
  }

  /** Empties it for another window. */
  restart(seed: number, hash: KeyHash): void {
    this.seed = seed;
    this.salt = hash.saltOf(seed);
    this.#probabilities.fill(0);
    this.#times.fill(Number.NEGATIVE_INFINITY);
  }

  probabilityAt(cell: number, nowMs: number): number {
    return decayed(this.#decay, this.#probabilities[cell] ?? 0, nowMs - (this.#times[cell] ?? 0));
  }

  add(cell: number, delta: number, nowMs: number): void {
    const sum = this.probabilityAt(cell, nowMs) + delta;
    assert(!Number.isNaN(sum), 'F3: a probability is a number');
    this.#probabilities[cell] = Math.min(1, Math.max(0, sum));
    this.#times[cell] = nowMs;
  }

  /** Ms since the last change; undefined in a cell that was never touched. */
  ageMsAt(cell: number, nowMs: number): number | undefined {
    const timeMs = this.#times[cell] ?? Number.NEGATIVE_INFINITY;
    return timeMs === Number.NEGATIVE_INFINITY ? undefined : Math.max(0, nowMs - timeMs);
  }
}
