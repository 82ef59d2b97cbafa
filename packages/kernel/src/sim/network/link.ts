// The path from one simulated machine to another. Each direction is a separate link, so that a partition can be
// one-way.
import { randomBelow } from '../../random.js';
import type { SeededRandom } from '../../seeded-random.js';
import type { LinkProfile } from './link-profile.js';

export class Link {
  readonly from: string;
  readonly to: string;
  readonly random: SeededRandom;
  profile: LinkProfile;
  #isBlocked = false;
  /** Machines at either end that are without power. */
  #machinesDown = 0;
  #waiting: (() => void)[] = [];

  constructor(ends: { from: string; to: string }, random: SeededRandom, profile: LinkProfile) {
    this.from = ends.from;
    this.to = ends.to;
    this.random = random.fork(`link/${ends.from}>${ends.to}`);
    this.profile = profile;
  }

  get isOpen(): boolean {
    return !this.#isBlocked && this.#machinesDown === 0;
  }

  block(): void {
    this.#isBlocked = true;
  }

  unblock(): void {
    this.#isBlocked = false;
    this.#wakeIfOpen();
  }

  machineDown(): void {
    this.#machinesDown += 1;
  }

  machineUp(): void {
    this.#machinesDown -= 1;
    this.#wakeIfOpen();
  }

  /** Calls back when the link opens. The waiter then checks whether it is still needed. */
  whenOpen(callback: () => void): void {
    this.#waiting.push(callback);
  }

  happens(probability: number): boolean {
    return probability > 0 && this.random.float() < probability;
  }

  /** The latency of the next packet. */
  delayMs(): number {
    const { delayMs, jitterMs, tailProbability, tailMsMax } = this.profile;
    const usualMs = delayMs + jitterMs * this.random.float();
    return this.happens(tailProbability) ? usualMs + tailMsMax * this.random.float() ** 3 : usualMs;
  }

  /** Where to split `bytes` bytes in two; `bytes` itself means no split. */
  cutAt(bytes: number): number {
    if (bytes < 2 || !this.happens(this.profile.cutProbability)) return bytes;
    return this.happens(0.5) ? 1 : 1 + randomBelow(this.random, bytes - 1);
  }

  #wakeIfOpen(): void {
    if (!this.isOpen) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const callback of waiting) callback();
  }
}
