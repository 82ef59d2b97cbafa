// Two structures and the arithmetic on them: Stochastic Fair BLUE. Values in, values out: no clock, no
// randomness, and no allocation but in `explain`.
//
// A flow has one cell on each level. A failure raises all of them, a success lowers them a little, time
// lowers them too. Flows that share a cell rarely share all, so the lowest of a flow's cells is closest
// to what it did itself. Decisions read the main structure; outcomes go to the secondary as well, so
// that it is warm when it becomes main.
//
// F18  Reads never write.
import type { Decay } from './decay.js';
import type { FlowKey } from './flow-key.js';
import { columnAt, type KeyHash } from './key-hash.js';
import { Structure } from './structure.js';

/** How the probabilities of the levels become one. */
export type Combine = 'min' | 'mean';

export interface FlowTableOptions {
  readonly levels: number;
  readonly columns: number;
  readonly decay: Decay;
  readonly combine: Combine;
  readonly hash: KeyHash;
}

export interface LevelExplanation {
  readonly level: number;
  readonly column: number;
  readonly probability: number;
  /** Since the cell last changed; undefined if it never did in this window. */
  readonly ageMs: number | undefined;
}

export class FlowTable {
  readonly #options: FlowTableOptions;
  readonly #words = new Uint32Array(2);
  #main: Structure;
  #secondary: Structure;

  constructor(options: FlowTableOptions) {
    this.#options = options;
    const { levels, columns, decay } = options;
    this.#main = new Structure(levels * columns, decay);
    this.#secondary = new Structure(levels * columns, decay);
  }

  get mainSeed(): number {
    return this.#main.seed;
  }

  get secondarySeed(): number {
    return this.#secondary.seed;
  }

  /** Two empty structures. */
  restart(mainSeed: number, secondarySeed: number): void {
    this.#main.restart(mainSeed, this.#options.hash);
    this.#secondary.restart(secondarySeed, this.#options.hash);
  }

  /** The secondary becomes main, and an empty one starts. */
  advance(secondarySeed: number): void {
    [this.#main, this.#secondary] = [this.#secondary, this.#main];
    this.#secondary.restart(secondarySeed, this.#options.hash);
  }

  /** The probability with which the flow is throttled now. */
  probabilityOf(key: FlowKey, nowMs: number): number {
    this.#options.hash.digest(key);
    return this.#combined(this.#main, nowMs);
  }

  /** Adds an outcome to the cells of the flow, in both structures. */
  add(key: FlowKey, delta: number, nowMs: number): void {
    this.#options.hash.digest(key);
    this.#addTo(this.#main, delta, nowMs);
    this.#addTo(this.#secondary, delta, nowMs);
  }

  explain(key: FlowKey, nowMs: number) {
    const { hash, levels, columns, combine } = this.#options;
    hash.digest(key);
    const secondaryProbability = this.#combined(this.#secondary, nowMs);
    const probability = this.#combined(this.#main, nowMs); // leaves the words of the main structure
    const explained = Array.from({ length: levels }, (_, level): LevelExplanation => {
      const column = columnAt(this.#words, level, columns);
      const cell = level * columns + column;
      return {
        level,
        column,
        probability: this.#main.probabilityAt(cell, nowMs),
        ageMs: this.#main.ageMsAt(cell, nowMs),
      };
    });
    const lowest = explained.findIndex((level) => level.probability === probability);
    const decidingLevel = combine === 'min' ? lowest : undefined;
    return { probability, levels: explained, decidingLevel, secondaryProbability };
  }

  #combined(structure: Structure, nowMs: number): number {
    const { hash, levels, columns, combine } = this.#options;
    hash.locate(structure.salt, this.#words);
    let lowest = 1;
    let sum = 0;
    for (let level = 0; level < levels; level += 1) {
      const cell = level * columns + columnAt(this.#words, level, columns);
      const probability = structure.probabilityAt(cell, nowMs);
      if (probability < lowest) lowest = probability;
      sum += probability;
    }
    return combine === 'min' ? lowest : Math.min(1, sum / levels);
  }

  #addTo(structure: Structure, delta: number, nowMs: number): void {
    const { hash, levels, columns } = this.#options;
    hash.locate(structure.salt, this.#words);
    for (let level = 0; level < levels; level += 1) {
      structure.add(level * columns + columnAt(this.#words, level, columns), delta, nowMs);
    }
  }
}
