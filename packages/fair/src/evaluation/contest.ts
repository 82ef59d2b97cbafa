// One run of a scenario: requests arrive in order, a gate admits or throttles them, an admitted one takes a
// token or fails, and the outcome is reported to the gate.
import type { Arrival } from './arrivals.js';
import { clientIds, type Scenario } from './scenario.js';
import { Tally } from './tally.js';
import { TokenBucket } from './token-bucket.js';

/** What guards the resource. */
export interface Gate {
  admits(client: string, nowMs: number): boolean;
  learn(client: string, isSuccess: boolean, nowMs: number): void;
}

export const openGate: Gate = { admits: () => true, learn() {} };

export class Contest {
  readonly tally: Tally;
  readonly #gate: Gate;
  readonly #ids: readonly string[];
  readonly #bucket: TokenBucket;

  constructor(scenario: Scenario, gate: Gate) {
    this.tally = new Tally(scenario);
    this.#gate = gate;
    this.#ids = clientIds(scenario);
    this.#bucket = new TokenBucket(scenario.capacityPerSecond);
  }

  serve({ atNs, client }: Arrival): void {
    const nowMs = Math.trunc(atNs / 1e6);
    const id = this.#ids[client] ?? '';
    this.tally.countRequest(client, atNs);
    if (!this.#gate.admits(id, nowMs)) {
      this.tally.throttled += 1;
      return;
    }
    const isSuccess = this.#bucket.take(atNs);
    if (isSuccess) this.tally.countSuccess(client, atNs);
    else this.tally.failures += 1;
    this.#gate.learn(id, isSuccess, nowMs);
  }
}

/** A run whose gate is synchronous. */
export function playThrough(scenario: Scenario, arrivals: readonly Arrival[], gate: Gate): Tally {
  const contest = new Contest(scenario, gate);
  for (const arrival of arrivals) contest.serve(arrival);
  return contest.tally;
}
