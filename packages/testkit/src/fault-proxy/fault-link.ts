// One proxied connection: the client's end, the target's end, and a line for each direction.
//
// A break is only visible to an end if the direction to it is not a black hole. An end that has missed
// something is reset once the hole is gone.
import type { Clock, Connection } from '@syncline/kernel';
import type { SeededRandom } from '@syncline/kernel/testing';
import { FaultLine } from './fault-line.js';
import type { ProxyDirection, ProxyFaults } from './faults.js';

export interface FaultLinkDeps {
  readonly client: Connection;
  readonly target: Connection;
  readonly clock: Clock;
  readonly random: SeededRandom;
  faults(direction: ProxyDirection): ProxyFaults;
  passed(direction: ProxyDirection, bytes: number): void;
}

interface Half {
  readonly direction: ProxyDirection;
  /** The end that this direction leads to. */
  readonly end: Connection;
  readonly line: FaultLine;
}

export class FaultLink {
  readonly #halves: readonly [Half, Half];
  readonly #over = new AbortController();
  readonly #deps: FaultLinkDeps;
  #isBroken = false;

  constructor(deps: FaultLinkDeps) {
    this.#deps = deps;
    this.#halves = [
      this.#half('to-target', deps.client, deps.target),
      this.#half('to-client', deps.target, deps.client),
    ];
  }

  /** Resolves when both ends are closed. */
  async run(): Promise<void> {
    for (const { line } of this.#halves) void line.run();
    await Promise.all(this.#halves.map(({ end }) => end.closed));
  }

  reset(): void {
    this.#over.abort();
    for (const { end } of this.#halves) end.destroy();
  }

  /** An end that has missed something cannot continue once its direction is free again. */
  faultsChanged(): void {
    for (const { direction, line } of this.#halves) {
      const isFree = !this.#deps.faults(direction).blackhole;
      if (isFree && (line.isHoled || this.#isBroken)) this.reset();
    }
  }

  #half(direction: ProxyDirection, from: Connection, end: Connection): Half {
    const { clock, random, faults, passed } = this.#deps;
    const line = new FaultLine({
      from,
      to: end,
      clock,
      random: random.fork(direction),
      signal: this.#over.signal,
      faults: () => faults(direction),
      passed: (bytes) => passed(direction, bytes),
      broken: () => this.#break(),
    });
    return { direction, end, line };
  }

  #break(): void {
    this.#isBroken = true;
    for (const { direction, end } of this.#halves)
      if (!this.#deps.faults(direction).blackhole) end.destroy();
  }
}
