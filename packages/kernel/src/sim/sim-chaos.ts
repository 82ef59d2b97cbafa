// Chaos under simulation: seeded results for `buggify`, counts for `probe`.
//
// In each run a point is either off or on for good (a quarter of the runs), and an on point fires one call in four.
// So some runs take a rare branch again and again and others never: both find bugs that a uniform probability would
// not. Each point draws from its own stream, so a new point does not shift the others.
import type { Chaos } from '../chaos.js';
import type { SeededRandom } from '../seeded-random.js';

const POINT_ON_PROBABILITY = 0.25;
const FIRE_PROBABILITY = 0.25;

export class SimChaos implements Chaos {
  readonly #random: SeededRandom;
  readonly #points = new Map<string, SeededRandom | 'off'>();
  readonly #probes = new Map<string, number>();
  #isCalm = false;

  constructor(random: SeededRandom) {
    this.#random = random.fork('buggify');
  }

  /** How often each probe was hit. */
  get probes(): ReadonlyMap<string, number> {
    return this.#probes;
  }

  buggify(name: string): boolean {
    if (this.#isCalm) return false;
    let point = this.#points.get(name);
    if (point === undefined) {
      const stream = this.#random.fork(name);
      point = stream.float() < POINT_ON_PROBABILITY ? stream : 'off';
      this.#points.set(name, point);
    }
    return point !== 'off' && point.float() < FIRE_PROBABILITY;
  }

  probe(name: string): void {
    this.#probes.set(name, (this.#probes.get(name) ?? 0) + 1);
  }

  /** No rare branch is taken from now on, so that the run settles. */
  calm(): void {
    this.#isCalm = true;
  }
}
