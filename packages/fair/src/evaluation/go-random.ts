// Go's math/rand, number for number, so that FAIR's published evaluation can be repeated. It serves no
// other purpose; its table is derived in go-random-table.ts.
import { deriveGoTable, FEED, fillWords, LAG } from './go-random-table.js';

export interface GoRandom {
  /** In [0, 1). */
  float64(): number;
  uint32(): number;
}

/** Derives the table once, in about 0.2 s, for any number of generators. */
export function createGoRandomSource(): (seed: number) => GoRandom {
  const table = deriveGoTable();
  return (seed) => new GoGenerator(seed, table);
}

const INT63_MASK = 2n ** 63n - 1n;

class GoGenerator implements GoRandom {
  readonly #words: BigUint64Array;
  #tap = 0;
  #feed = FEED;

  constructor(seed: number, table: BigUint64Array) {
    this.#words = fillWords(seed, 40, 20).map((word, index) => word ^ (table[index] ?? 0n));
  }

  float64(): number {
    for (;;) {
      const float = Number(this.#int63()) / 2 ** 63;
      if (float < 1) return float; // rounding can give 1
    }
  }

  uint32(): number {
    return Number(this.#int63() >> 31n);
  }

  #int63(): bigint {
    this.#tap = (this.#tap + LAG - 1) % LAG;
    this.#feed = (this.#feed + LAG - 1) % LAG;
    const sum = (this.#words[this.#feed] ?? 0n) + (this.#words[this.#tap] ?? 0n);
    this.#words[this.#feed] = sum;
    return sum & INT63_MASK;
  }
}
