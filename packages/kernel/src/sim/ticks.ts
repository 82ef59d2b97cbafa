// The resolution of simulated time.

/** A power of two, so that sums and differences of times are exact: a sleep never seems short. */
export const TICKS_PER_MS = 1024;
