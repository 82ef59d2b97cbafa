// The requests of a scenario under one seed, drawn once and then replayed without throttling and with any
// number of fleets, so that nothing else differs.
//
// The trial owns time. Between two intervals it moves the clock from request to request; at the end of
// each it waits until the fleet has shared, while the clock stands still. So it does not matter how long
// sockets take; they only affect the order in which a service receives messages of two instances.
import { randomBelow } from '@syncline/kernel';
import { createSeededRandom, type SeededRandom } from '@syncline/kernel/testing';
import {
  type Arrival,
  Contest,
  drawArrivals,
  type Gate,
  openGate,
  playThrough,
} from './contest.js';
import type { Fleet, FleetSettings, OpenFleet } from './fleet.js';
import { ManualClock } from './manual-clock.js';
import type { Scenario } from './scenario.js';
import type { Tally } from './tally.js';

export interface TrialOptions extends Pick<FleetSettings, 'instances' | 'policy' | 'intervalMs'> {
  readonly signal?: AbortSignal;
}

/** Windows begin at multiples of it, so that a trial starts anywhere in one and rotates on its way. */
const WINDOW_MS = 300_000;
const EPOCH_MS = 1_700_000_100_000;

export class Trial {
  readonly #scenario: Scenario;
  readonly #random: SeededRandom;
  readonly #arrivals: readonly Arrival[];

  constructor(scenario: Scenario, seed: number) {
    this.#scenario = scenario;
    this.#random = createSeededRandom(`${scenario.name}/${seed}`);
    const random = this.#random.fork('arrivals');
    this.#arrivals = drawArrivals(scenario, () => random.float());
  }

  playOpen(): Tally {
    return playThrough(this.#scenario, this.#arrivals, openGate);
  }

  /** Rejects with the reason of the signal when that fires. */
  async play(openFleet: OpenFleet, options: TrialOptions): Promise<Tally> {
    const { signal, ...settings } = options;
    const wallMs = EPOCH_MS + randomBelow(this.#random.fork('start'), WINDOW_MS);
    const clock = new ManualClock(wallMs);
    const fleet = await openFleet({ ...settings, clock, random: this.#random.fork('fleet') });
    const reported = new Set<string>();
    const contest = new Contest(this.#scenario, this.#balance(fleet, clock, reported));
    const startMs = clock.monotonicMs(); // connecting may have taken time
    contest.tally.rotatedAtSeconds = (WINDOW_MS - (clock.nowMs() % WINDOW_MS)) / 1_000;
    try {
      let shareAtMs = options.intervalMs;
      for (const arrival of this.#arrivals) {
        for (; arrival.atNs >= shareAtMs * 1e6; shareAtMs += options.intervalMs) {
          signal?.throwIfAborted();
          clock.advanceTo(startMs + shareAtMs);
          await fleet.share(reported);
          reported.clear();
        }
        contest.serve(arrival);
      }
    } finally {
      await fleet.close();
    }
    return contest.tally;
  }

  /** Each request goes to a random instance. */
  #balance({ trackers }: Fleet, clock: ManualClock, reported: Set<string>): Gate {
    const random = this.#random.fork('balancer');
    const startMs = clock.monotonicMs();
    let chosen = trackers[0];
    return {
      admits(client, nowMs) {
        clock.advanceTo(startMs + nowMs);
        chosen = trackers[randomBelow(random, trackers.length)];
        return chosen?.register(client).throttled === false;
      },
      learn(client, isSuccess) {
        chosen?.report(client, isSuccess ? 'success' : 'failure');
        reported.add(client);
      },
    };
  }
}
