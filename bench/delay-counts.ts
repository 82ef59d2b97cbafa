// A histogram of durations in tenths of a millisecond, so that memory does not grow with a hundred thousand events a
// second.
const BUCKETS_PER_MS = 10;
const BUCKETS = 60_000 * BUCKETS_PER_MS;

export class DelayCounts {
  readonly #counts = new Uint32Array(BUCKETS);
  #total = 0;

  get total(): number {
    return this.#total;
  }

  add(ms: number): void {
    const bucket = Math.min(BUCKETS - 1, Math.max(0, Math.floor(ms * BUCKETS_PER_MS)));
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#total += 1;
  }

  /** The quantile `part`, in ms. */
  quantile(part: number): number {
    const wanted = Math.ceil(part * this.#total);
    let count = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      count += this.#counts[bucket] ?? 0;
      if (count >= wanted && count > 0) return (bucket + 1) / BUCKETS_PER_MS;
    }
    return Number.NaN;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#total = 0;
  }
}
