// Where the cells of a key lie in both structures. Keys of late are remembered, since a request asks
// twice (`register`, then `report`) and busy flows ask often: finding a key again takes a quarter of hashing it.
//
// The memory is a table in which a key has one place, so a key made to take another's place costs that
// one a hash and nothing else. Only short strings are kept, and a bounded number of them. One that was cut
// out of a longer text may keep that text alive until its place is taken or the window ends.
import { type CellNumbers, createCellNumbers } from './cell-numbers.js';
import type { FlowKey } from './flow-key.js';
import type { KeyHash, WindowSalt } from './key-hash.js';
import { fairLimits } from './limits.js';

const PLACES = fairLimits.keysRememberedMax.value;
const UNITS_MAX = fairLimits.keyUnitsRememberedMax.value;
/** Multiplying by it parts neighbours, and the high bits are the place (Fibonacci hashing). */
const GOLDEN_RATIO_32 = 0x9e37_79b1;
const PLACE_SHIFT = 32 - Math.log2(PLACES);

export interface CellFinderOptions {
  readonly levels: number;
  readonly columns: number;
  readonly hash: KeyHash;
}

export class CellFinder {
  readonly #options: CellFinderOptions;
  readonly #keys: FlowKey[];
  readonly #words = new Uint32Array(2);
  #mainSalt: WindowSalt = new Uint32Array(4);
  #secondarySalt: WindowSalt = new Uint32Array(4);
  /**
   * Per place the cells of the main structure by level, then those of the secondary. The last place is
   * for keys that are not remembered.
   */
  readonly cells: CellNumbers;

  constructor(options: CellFinderOptions) {
    this.#options = options;
    this.#keys = new Array<FlowKey>(PLACES).fill('');
    const { levels, columns } = options;
    this.cells = createCellNumbers((PLACES + 1) * 2 * levels, levels * columns);
  }

  /** Other windows have other cells: forgets all keys. */
  enter(mainSalt: WindowSalt, secondarySalt: WindowSalt): void {
    this.#mainSalt = mainSalt;
    this.#secondarySalt = secondarySalt;
    this.#keys.fill('');
  }

  /** The index in `cells` at which those of a key, which is not empty, start. */
  find(key: FlowKey): number {
    const cellsPerPlace = 2 * this.#options.levels;
    if (typeof key !== 'string' || key.length > UNITS_MAX) {
      return this.#locate(key, PLACES * cellsPerPlace);
    }
    const place = placeOf(key);
    const start = place * cellsPerPlace;
    if (this.#keys[place] === key) return start;
    this.#locate(key, start);
    this.#keys[place] = key;
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

/**
 * From nine of the key's units: its end, its middle and its first quarter, where names differ. Numbers at
 * the end count as they are, so that keys which are counted up get a place each.
 */
function placeOf(key: string): number {
  const last = key.length - 1;
  const middle = key.length >> 1;
  const quarter = key.length >> 2;
  const sum =
    key.charCodeAt(last) +
    10 * unitAt(key, last - 1) +
    100 * unitAt(key, last - 2) +
    1000 * unitAt(key, last - 3) +
    6151 * key.charCodeAt(middle) +
    12_289 * unitAt(key, middle + 1) +
    24_593 * key.charCodeAt(quarter) +
    49_157 * unitAt(key, quarter + 1) +
    98_317 * unitAt(key, quarter + 2);
  return Math.imul(sum, GOLDEN_RATIO_32) >>> PLACE_SHIFT;
}

/** 0 beyond the ends of a short key. */
function unitAt(key: string, index: number): number {
  return key.charCodeAt(index) | 0;
}
