// Finds the cells of a key in both structures. Recently used keys are cached, since each request needs them
// twice (`register`, then `report`) and busy flows need them often: a cache hit costs a fifth of a hash.
//
// The cache is a Map from key to slot. It never looks at the characters of a key: `charCodeAt` leaves V8's fast
// path, for the whole process, as soon as any module declares a class that extends String (ioredis does).
// When all slots are in use the cache starts over, so a flood of new keys only costs the others an occasional
// hash. Only short strings are cached. One that was cut out of a longer text may keep that text alive until the
// cache starts over.
import { type CellNumbers, createCellNumbers } from './cells.js';
import type { FlowKey } from './flow-key.js';
import type { KeyHash, WindowSalt } from './key-hash.js';
import { fairLimits } from './limits.js';

const SLOTS = fairLimits.keysCachedMax.value;
const UNITS_MAX = fairLimits.keyUnitsCachedMax.value;

export interface CellFinderOptions {
  readonly levels: number;
  readonly columns: number;
  readonly hash: KeyHash;
}

export class CellFinder {
  readonly #options: CellFinderOptions;
  readonly #cellsPerSlot: number;
  /** From a key to the index in `cells` at which its slot starts. */
  readonly #starts = new Map<string, number>();
  #lastKey = '';
  #lastStart = 0;
  readonly #words = new Uint32Array(2);
  #mainSalt: WindowSalt = new Uint32Array(4);
  #secondarySalt: WindowSalt = new Uint32Array(4);
  /**
   * Per slot the cells of the main structure by level, then those of the secondary. The last slot is
   * for keys that are not cached.
   */
  readonly cells: CellNumbers;

  constructor(options: CellFinderOptions) {
    this.#options = options;
    const { levels, columns } = options;
    this.#cellsPerSlot = 2 * levels;
    this.cells = createCellNumbers((SLOTS + 1) * 2 * levels, levels * columns);
  }

  /** New windows have new cells: clears the cache. */
  enter(mainSalt: WindowSalt, secondarySalt: WindowSalt): void {
    this.#mainSalt = mainSalt;
    this.#secondarySalt = secondarySalt;
    this.#starts.clear();
    this.#lastKey = '';
  }

  /** The index in `cells` at which those of a key start. The key is not empty. */
  find(key: FlowKey): number {
    if (typeof key !== 'string' || key.length > UNITS_MAX) {
      return this.#locate(key, SLOTS * this.#cellsPerSlot);
    }
    const start = this.#starts.get(key) ?? this.#cache(key);
    this.#lastKey = key;
    this.#lastStart = start;
    return start;
  }

  /** The same, faster if the last key that was found is this very string: `report` often follows `register` directly. */
  findAgain(key: FlowKey): number {
    return key === this.#lastKey ? this.#lastStart : this.find(key);
  }

  #cache(key: string): number {
    if (this.#starts.size === SLOTS) this.#starts.clear(); // cheaper than deleting an old key for each new one
    const start = this.#locate(key, this.#starts.size * this.#cellsPerSlot);
    this.#starts.set(key, start);
    return start;
  }

  #locate(key: FlowKey, start: number): number {
    const { hash, levels } = this.#options;
    hash.digest(key);
    hash.locate(this.#mainSalt, this.#words);
    this.#writeCells(start);
    hash.locate(this.#secondarySalt, this.#words);
    this.#writeCells(start + levels);
    return start;
  }

  /** Double hashing: the column of a level is (h1 + level · h2) mod 2^32 mod columns. */
  #writeCells(start: number): void {
    const { levels, columns } = this.#options;
    const cells = this.cells;
    const step = this.#words[1] ?? 0;
    let word = this.#words[0] ?? 0;
    for (let level = 0; level < levels; level += 1) {
      cells[start + level] = level * columns + (word % columns);
      word = (word + step) >>> 0;
    }
  }
}
