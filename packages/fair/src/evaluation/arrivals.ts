// The arrival times of each client of a scenario: independent Poisson processes, drawn class by class and
// client by client, then sorted.
import type { Scenario } from './scenario.js';

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
