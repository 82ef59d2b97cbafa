// Two structures and the arithmetic on them: Stochastic Fair BLUE. Values in, values out: no clock, no
// randomness, and no allocation except in `explain`.
//
// A flow has one cell on each level. A failure raises all of them, a success lowers them a little, time
// lowers them too. Flows that share a cell rarely share all, so the lowest of a flow's cells is the best
// estimate of its own behavior. Decisions read the main structure; outcomes go to the secondary as well, so
// that it is warm when it becomes main.
//
// F18  Reads never write.
import { CellFinder } from './cell-finder.js';
import { type Decay, DecayTable } from './decay.js';
import type { FlowKey } from './flow-key.js';
import type { KeyHash } from './key-hash.js';
import { Structure } from './structure.js';

/** How the probabilities of the levels are combined. */
export type Combine = 'min' | 'mean';

export interface FlowTableOptions {
  readonly levels: number;
  readonly columns: number;
  readonly decay: Decay;
  readonly combine: Combine;
  readonly hash: KeyHash;
  /** Whether outcomes are kept for a shared state. Default false. */
  readonly isShared?: boolean;
}

export interface LevelExplanation {
  readonly level: number;
  readonly column: number;
  readonly probability: number;
  /** Time since the cell last changed; undefined if it has not changed in this window. */
  readonly ageMs: number | undefined;
}

export class FlowTable {
  readonly #options: FlowTableOptions;
  readonly #finder: CellFinder;
  readonly #levels: number;
  readonly #isMean: boolean;
  #main: Structure;
  #secondary: Structure;

  constructor(options: FlowTableOptions) {
    this.#options = options;
    this.#finder = new CellFinder(options);
    const { levels, columns, isShared = false } = options;
    this.#levels = levels;
    this.#isMean = options.combine === 'mean';
    const decay = new DecayTable(options.decay);
    this.#main = new Structure(levels * columns, decay, isShared);
    this.#secondary = new Structure(levels * columns, decay, isShared);
  }

  get main(): Structure {
    return this.#main;
  }

  get secondary(): Structure {
    return this.#secondary;
  }

  /** Two empty structures. Returns how many cells lost outcomes that were pending. */
  restart(mainSeed: number, secondarySeed: number): number {
    const { hash } = this.#options;
    const mainLost = this.#main.restart(mainSeed, hash);
    const secondaryLost = this.#secondary.restart(secondarySeed, hash);
    this.#finder.enter(this.#main.salt, this.#secondary.salt);
    return mainLost + secondaryLost;
  }

  /** The secondary becomes main, and an empty one starts. Returns the same. */
  advance(secondarySeed: number): number {
    [this.#main, this.#secondary] = [this.#secondary, this.#main];
    const lost = this.#secondary.restart(secondarySeed, this.#options.hash);
    this.#finder.enter(this.#main.salt, this.#secondary.salt);
    return lost;
  }

  /** The probability with which the flow is throttled now. */
  probabilityOf(key: FlowKey, nowMs: number): number {
    const start = this.#finder.findAgain(key);
    const { cells } = this.#finder;
    return this.#main.combined(cells, start, start + this.#levels, nowMs, this.#isMean);
  }

  /**
   * Whether the flow's probability is at most `bound`, whatever the time is: it decays, and when a window has ended
   * that of the secondary structure counts, and after two that of an empty one.
   */
  isAlwaysAtMost(bound: number, key: FlowKey): boolean {
    const start = this.#finder.find(key);
    const { cells } = this.#finder;
    const next = start + this.#levels;
    const end = next + this.#levels;
    return (
      this.#main.isAtMost(bound, cells, start, next, this.#isMean) &&
      this.#secondary.isAtMost(bound, cells, next, end, this.#isMean)
    );
  }

  /** Whether a success changes nothing, whatever the time is: all cells of the flow are 0, in both structures. */
  isClear(key: FlowKey): boolean {
    const start = this.#finder.findAgain(key);
    const { cells } = this.#finder;
    const next = start + this.#levels;
    return (
      this.#main.isClear(cells, start, next) &&
      this.#secondary.isClear(cells, next, next + this.#levels)
    );
  }

  /** Adds an outcome to the cells of the flow, in both structures. */
  add(key: FlowKey, delta: number, nowMs: number): void {
    const levels = this.#levels;
    const start = this.#finder.findAgain(key);
    const { cells } = this.#finder;
    this.#main.addToAll(cells, start, start + levels, delta, nowMs);
    this.#secondary.addToAll(cells, start + levels, start + 2 * levels, delta, nowMs);
  }

  /** The same for a shared table: with the gain in the view, without it in what is pending. */
  addShared(key: FlowKey, delta: number, gain: number, nowMs: number): void {
    this.add(key, gain === 1 ? delta : delta * gain, nowMs);
    const levels = this.#levels;
    const start = this.#finder.findAgain(key);
    const { cells } = this.#finder;
    for (let at = start; at < start + levels; at += 1) {
      this.#main.pending.add(cells[at] ?? 0, delta);
      this.#secondary.pending.add(cells[at + levels] ?? 0, delta);
    }
  }

  explain(key: FlowKey, nowMs: number) {
    const { levels, columns, combine } = this.#options;
    const start = this.#finder.find(key);
    const { cells } = this.#finder;
    const end = start + levels;
    const probability = this.#main.combined(cells, start, end, nowMs, this.#isMean);
    const secondaryProbability = this.#secondary.combined(
      cells,
      end,
      end + levels,
      nowMs,
      this.#isMean,
    );
    const explained = Array.from({ length: levels }, (_, level): LevelExplanation => {
      const cell = cells[start + level] ?? 0;
      return {
        level,
        column: cell - level * columns,
        probability: this.#main.probabilityAt(cell, nowMs),
        ageMs: this.#main.ageMsAt(cell, nowMs),
      };
    });
    const lowest = explained.findIndex((level) => level.probability === probability);
    const decidingLevel = combine === 'min' ? lowest : undefined;
    return { probability, levels: explained, decidingLevel, secondaryProbability };
  }
}
