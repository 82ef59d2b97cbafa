// One run of a scenario: requests arrive in order, a gate admits or throttles them, an admitted one takes a
// token or fails, and the outcome is reported to the gate.
import { clientIds, type Scenario } from './scenario.js';
import { Tally } from './tally.js';

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

// The arrival times of each client of a scenario: independent Poisson processes, drawn class by class and
// client by client, then sorted.

export interface Arrival {
  readonly atNs: number;
  /** Index into `clientIds`. */
  readonly client: number;
}

const NS_PER_SECOND = 1e9;

export function drawArrivals(scenario: Scenario, float: () => number): readonly Arrival[] {
  const arrivals: Arrival[] = [];
  let client = 0;
  for (const { clients, requestsPerSecond, fromSeconds, toSeconds } of scenario.classes) {
    const startNs = (fromSeconds ?? 0) * NS_PER_SECOND;
    const endNs = (toSeconds ?? scenario.durationSeconds) * NS_PER_SECOND;
    const pauseNs = () => Math.trunc((-Math.log(1 - float()) / requestsPerSecond) * NS_PER_SECOND);
    for (const last = client + clients; client < last; client += 1) {
      for (let atNs = startNs + pauseNs(); atNs < endNs; atNs += pauseNs())
        arrivals.push({ atNs, client });
    }
  }
  return arrivals.sort((left, right) => left.atNs - right.atNs || left.client - right.client);
}

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
