// Runs a scenario, without throttling and with it, and says how fairly the resource was shared.
//
// `parity: 'fair-go'` repeats FAIR's own evaluation decision by decision: its random numbers, its hash
// without rotation, two draws per request of which the first decides, and `u <= p` where we say `u < p`.
// The flow table under it is the tracker's own.
import { FlowTable } from '../flow-table.js';
import { MurmurHash } from '../key-hash.js';
import { type FairTuning, tuneFair } from '../tuning.js';
import { type Arrival, drawArrivals } from './arrivals.js';
import { jainIndex, maxMinShares } from './fairness.js';
import { createGoRandomSource, type GoRandom } from './go-random.js';
import { clientIds, type Scenario } from './scenario.js';
import { TokenBucket } from './token-bucket.js';

export interface EvaluationOptions {
  /** Default: as many flows as there are clients, 1000 columns, 25 failures. */
  readonly tuning?: FairTuning;
  /** Default 0.01. */
  readonly lambdaPerSecond?: number;
}

export interface EvaluationResult {
  readonly requests: number;
  readonly successes: number;
  /** Admitted, and then there was no token. */
  readonly failures: number;
  readonly throttled: number;
  /** Jain's index of successes over entitlement, per client. */
  readonly jain: number;
  /** Successes over what could be had: 1 when nothing was wasted. */
  readonly used: number;
  /** The lowest of the clients' successes over entitlement. */
  readonly worst: number;
}

export interface Evaluation {
  readonly without: EvaluationResult;
  readonly fair: EvaluationResult;
}

const RANDOM_SOURCES = { 'fair-go': createGoRandomSource } as const;

/** Whose evaluation to repeat. One source of random numbers serves any number of scenarios. */
export function createEvaluation({ parity }: { readonly parity: keyof typeof RANDOM_SOURCES }) {
  const source = RANDOM_SOURCES[parity]();
  return (scenario: Scenario, options: EvaluationOptions = {}): Evaluation => {
    const arrivalRandom = source(scenario.seed);
    const arrivals = drawArrivals(scenario, () => arrivalRandom.float64());
    return {
      without: play(scenario, arrivals, openGate),
      fair: play(scenario, arrivals, parityGate(scenario, source(scenario.seed), options)),
    };
  };
}

/** What stands before the resource. */
interface Gate {
  admits(client: string, nowMs: number): boolean;
  learn(client: string, isSuccess: boolean, nowMs: number): void;
}

const openGate: Gate = { admits: () => true, learn() {} };

function parityGate(
  scenario: Scenario,
  random: GoRandom,
  { tuning, lambdaPerSecond = 0.01 }: EvaluationOptions,
): Gate {
  const expectedFlows = clientIds(scenario).length;
  const { levels, columns, increment, decrement } = tuneFair({ expectedFlows, ...tuning });
  const table = new FlowTable({
    levels,
    columns,
    decay: { policy: 'exponential', ratePerSecond: lambdaPerSecond },
    combine: 'min',
    hash: new MurmurHash((seed) => Uint32Array.of(seed)),
  });
  const mainSeed = random.uint32();
  table.restart(mainSeed, random.uint32());
  return {
    admits(client, nowMs) {
      const draw = random.float64();
      random.float64(); // FAIR asks its secondary structure too, and leaves the answer
      return draw > table.probabilityOf(client, nowMs);
    },
    learn: (client, isSuccess, nowMs) =>
      table.add(client, isSuccess ? -decrement : increment, nowMs),
  };
}

function play(scenario: Scenario, arrivals: readonly Arrival[], gate: Gate): EvaluationResult {
  const ids = clientIds(scenario);
  const bucket = new TokenBucket(scenario.capacityPerSecond);
  const wants = new Array<number>(ids.length).fill(0);
  const gains = new Array<number>(ids.length).fill(0);
  let failures = 0;
  let throttled = 0;
  for (const { atNs, client } of arrivals) {
    const nowMs = Math.trunc(atNs / 1e6);
    const id = ids[client] ?? '';
    wants[client] = (wants[client] ?? 0) + 1;
    if (!gate.admits(id, nowMs)) {
      throttled += 1;
      continue;
    }
    const isSuccess = bucket.take(atNs);
    if (isSuccess) gains[client] = (gains[client] ?? 0) + 1;
    else failures += 1;
    gate.learn(id, isSuccess, nowMs);
  }
  return { ...judged(scenario, wants, gains), failures, throttled };
}

function judged(scenario: Scenario, wants: readonly number[], gains: readonly number[]) {
  const { capacityPerSecond, durationSeconds } = scenario;
  const requests = wants.reduce((sum, want) => sum + want, 0);
  const successes = gains.reduce((sum, gain) => sum + gain, 0);
  const available = Math.min(capacityPerSecond * durationSeconds + capacityPerSecond, requests);
  const ratios = maxMinShares(available, wants).flatMap((share, client) =>
    share > 0 ? [(gains[client] ?? 0) / share] : [],
  );
  return {
    requests,
    successes,
    jain: jainIndex(ratios),
    used: successes / available,
    worst: Math.min(...ratios),
  };
}
