// The resource that the clients of an evaluation compete for: a token bucket, full at the start, with one token
// per request.

export class TokenBucket {
  readonly #capacityPerSecond: number;
  #tokens: number;
  #lastNs = 0;

  constructor(capacityPerSecond: number) {
    this.#capacityPerSecond = capacityPerSecond;
    this.#tokens = capacityPerSecond;
  }

  /** False when there is no whole token. */
  take(nowNs: number): boolean {
    const elapsedSeconds = (nowNs - this.#lastNs) / 1e9;
    const refilled = this.#tokens + elapsedSeconds * this.#capacityPerSecond;
    this.#tokens = Math.min(this.#capacityPerSecond, refilled);
    this.#lastNs = nowNs;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
