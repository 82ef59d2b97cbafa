// FAIR's own evaluation, repeated decision by decision (`parity: 'fair-go'`): its random numbers, its hash
// without rotation, two draws per request of which the first decides, and `u <= p` where we use `u < p`.
// The flow table under it is the tracker's own.
import { FlowTable } from '../flow-table.js';
import { MurmurHash } from '../key-hash.js';
import { type FairTuning, tuneFair } from '../tuning.js';
import { drawArrivals, type Gate, openGate, playThrough } from './contest.js';
import { createGoRandomSource, type GoRandom } from './go-random.js';
import { clientIds, type Scenario } from './scenario.js';
import { judge, type Verdict } from './verdict.js';

export interface EvaluationOptions {
  /** Default: as many flows as there are clients, 1000 columns, 25 failures. */
  readonly tuning?: FairTuning;
  /** Default 0.01. */
  readonly lambdaPerSecond?: number;
}

export interface Evaluation {
  readonly without: Verdict;
  readonly fair: Verdict;
}

const RANDOM_SOURCES = { 'fair-go': createGoRandomSource } as const;

/** Whose evaluation to repeat. One source of random numbers serves any number of scenarios. */
export function createEvaluation({ parity }: { readonly parity: keyof typeof RANDOM_SOURCES }) {
  const source = RANDOM_SOURCES[parity]();
  return (scenario: Scenario, options: EvaluationOptions = {}): Evaluation => {
    const arrivalRandom = source(scenario.seed);
    const arrivals = drawArrivals(scenario, () => arrivalRandom.float64());
    const gate = parityGate(scenario, source(scenario.seed), options);
    return {
      without: judge(playThrough(scenario, arrivals, openGate)),
      fair: judge(playThrough(scenario, arrivals, gate)),
    };
  };
}

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
      random.float64(); // FAIR also queries its secondary structure, and ignores the answer
      return draw > table.probabilityOf(client, nowMs);
    },
    learn: (client, isSuccess, nowMs) =>
      table.add(client, isSuccess ? -decrement : increment, nowMs),
  };
}
