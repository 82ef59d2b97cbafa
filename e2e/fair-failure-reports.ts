// Failures that instances report continuously, each under its own key, so that its value at each instance shows how
// often it was counted.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { FairFleet } from './fair-fleet.js';

/** Small, so that thousands fit between 0 and 1. */
const COST = 0.002;
/** The increment of the default tuning. */
const INCREMENT = 0.04;
const REPORTS_AT_ONCE = 3;
const PAUSE_MS = 5;

/** Trackers that forget nothing, estimate nothing, and drop nothing on a slow machine. */
export const COUNTING_OPTIONS = {
  policy: 'linear',
  leakPerSecond: 0,
  outageGain: false,
  flushIntervalMs: 10,
  retryBudgetMs: 60_000,
} as const;

export class FailureReports implements AsyncDisposable {
  readonly keys: readonly string[];
  readonly counts: number[];
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  constructor(fleet: FairFleet, keys: readonly string[]) {
    this.keys = keys;
    this.counts = keys.map(() => 0);
    this.#running = this.#run(fleet);
  }

  /** The value if each report so far counts once. */
  probabilities(): readonly number[] {
    return this.counts.map((count) => count * INCREMENT * COST);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** After `stop`: nothing is pending, and every instance holds every report once. */
  async expectHeldBy(fleet: FairFleet, views: readonly (readonly number[])[]): Promise<void> {
    for (const { pendingCells } of await fleet.statuses()) expect(pendingCells).toBe(0);
    const expected = this.probabilities();
    for (const held of views)
      for (const [index, probability] of held.entries())
        expect(probability).toBeCloseTo(expected[index] ?? 0, 9);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #run(fleet: FairFleet): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      for (const [index, instance] of fleet.instances.entries()) {
        await instance.fail(this.keys[index] ?? '', REPORTS_AT_ONCE, COST);
        this.counts[index] = (this.counts[index] ?? 0) + REPORTS_AT_ONCE;
      }
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
