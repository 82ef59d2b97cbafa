// Randomness as a port. In production fast and seeded by the system; in a simulation replayable.

export interface Random {
  /** An integer from 0 to 2^32 - 1. Fast, not secret. */
  u32(): number;
  /** A number in [0, 1) with 53 random bits. Fast, not secret. */
  float(): number;
  /** Bytes fit for nonces and tokens. */
  bytes(count: number): Uint8Array;
}

/** An integer in [0, bound), without bias. `bound` is 1 to 2^32. */
export function randomBelow(random: Random, bound: number): number {
  const limit = 2 ** 32 - (2 ** 32 % bound);
  for (;;) {
    const draw = random.u32();
    if (draw < limit) return draw % bound;
  }
}
