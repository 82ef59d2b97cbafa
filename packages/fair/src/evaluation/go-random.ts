// Go's math/rand, number for number, so that FAIR's published evaluation can be repeated. It serves no
// other purpose; its table is derived, not copied.

// The start table of Go's math/rand, derived rather than copied. The generator is an additive lagged
// Fibonacci one, x(n) = x(n - 607) + x(n - 273) mod 2^64, and the table is its state 7.8·10^12 steps after a
// first fill. That is too far to step: X to that power, modulo the polynomial of the recurrence, gives each
// later word as a sum of the first ones.
//
// Polynomials are multiplied as one large integer each (Kronecker): each coefficient gets enough bits that the
// sums in a product cannot overflow into the next.

export const LAG = 607;
const FEED = 334;

const STEPS = 7_800_000_000_000n;
/** 607 products of two 64-bit words need 138 bits; 36 hexadecimal digits hold 144. */
const SLOT_DIGITS = 36;

export function deriveGoTable(): BigUint64Array {
  return stateAfter(STEPS, fillWords(1, 20, 10));
}

/** The words for a seed: three Lehmer numbers each, shifted and combined. */
export function fillWords(seed: number, firstShift: number, secondShift: number): BigUint64Array {
  const modulus = 2 ** 31 - 1;
  let x = ((seed % modulus) + modulus) % modulus;
  if (x === 0) x = 89_482_311;
  const next = () => {
    x = (48_271 * x) % modulus;
    return BigInt(x);
  };
  for (let step = 0; step < 20; step += 1) next();
  return BigUint64Array.from({ length: LAG }, () => {
    const high = next() << BigInt(firstShift);
    return BigInt.asUintN(64, high ^ (next() << BigInt(secondShift)) ^ next());
  });
}

/** The words after `steps` outputs, each where the generator would have left it. */
export function stateAfter(steps: bigint, words: BigUint64Array): BigUint64Array {
  const sequence = new BigUint64Array(2 * LAG - 1);
  for (let index = 0; index < sequence.length; index += 1) {
    sequence[index] =
      index < LAG
        ? word(words, placeOf(BigInt(index)))
        : word(sequence, index - LAG) + word(sequence, index - (LAG - FEED));
  }
  const factors = powerOfX(steps);
  const state = new BigUint64Array(LAG);
  for (let index = 0; index < LAG; index += 1) {
    let sum = 0n;
    for (let term = 0; term < LAG; term += 1)
      sum += word(factors, term) * word(sequence, index + term);
    state[placeOf(steps + BigInt(index))] = sum;
  }
  return state;
}

/** Where the sequence's word number `index` lies; the first 607 are the fill, oldest first. */
function placeOf(index: bigint): number {
  const lag = BigInt(LAG);
  const outputNumber = index - (lag - 1n);
  return Number((((BigInt(FEED) - outputNumber) % lag) + lag) % lag);
}

/** X^exponent modulo X^607 - X^334 - 1, by squaring. */
function powerOfX(exponent: bigint): BigUint64Array {
  let power = new BigUint64Array(LAG);
  power[0] = 1n;
  for (const bit of exponent.toString(2)) {
    power = reduced(squared(power));
    if (bit === '1') power = reduced(timesX(power));
  }
  return power;
}

function timesX(polynomial: BigUint64Array): BigUint64Array {
  const shifted = new BigUint64Array(LAG + 1);
  shifted.set(polynomial, 1);
  return shifted;
}

function squared(polynomial: BigUint64Array): BigUint64Array {
  let digits = '';
  for (const coefficient of polynomial)
    digits = coefficient.toString(16).padStart(SLOT_DIGITS, '0') + digits;
  const packed = BigInt(`0x${digits}`);
  const count = 2 * LAG - 1;
  const product = (packed * packed).toString(16).padStart(count * SLOT_DIGITS, '0');
  return BigUint64Array.from({ length: count }, (_, index) => {
    const end = product.length - index * SLOT_DIGITS;
    return BigInt(`0x${product.slice(end - 16, end)}`); // the low 64 bits
  });
}

/** Highest first, since X^607 = X^334 + 1 gives terms that may need it again. */
function reduced(polynomial: BigUint64Array): BigUint64Array<ArrayBuffer> {
  const rest = BigUint64Array.from(polynomial);
  for (let index = rest.length - 1; index >= LAG; index -= 1) {
    const coefficient = word(rest, index);
    rest[index - LAG + FEED] = word(rest, index - LAG + FEED) + coefficient;
    rest[index - LAG] = word(rest, index - LAG) + coefficient;
  }
  return rest.slice(0, LAG);
}

function word(words: BigUint64Array, index: number): bigint {
  return words[index] ?? 0n;
}

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
    this.#words = fillWords(seed, 40, 20).map((own, index) => own ^ (table[index] ?? 0n));
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
