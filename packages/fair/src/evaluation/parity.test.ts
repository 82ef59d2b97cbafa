import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createEvaluation } from './evaluate.js';
import { createGoRandomSource, deriveGoTable, fillWords, LAG, stateAfter } from './go-random.js';
import { type Scenario, scenarios } from './scenario.js';

describe('F2 the random numbers of Go', () => {
  test('the derived table is the one that Go has', () => {
    const hash = createHash('sha256').update(deriveGoTable()).digest('hex');
    expect(hash).toBe('1928503b93a563e491119a5889baba73d1605b90b63634c14a408805797a7c7b');
  });

  test('jumping ahead equals stepping ahead', () => {
    const words = fillWords(7, 20, 10);
    const walked = words.slice();
    for (let step = 1; step <= 1500; step += 1) {
      const feed = (((334 - step) % LAG) + LAG) % LAG;
      const tap = ((-step % LAG) + LAG) % LAG;
      walked[feed] = (walked[feed] ?? 0n) + (walked[tap] ?? 0n);
    }
    expect(stateAfter(1500n, words)).toEqual(walked);
  });

  test('a seed gives the first numbers of Go', () => {
    const source = createGoRandomSource();
    expect(source(1000).float64()).toBe(0.6806635511317619);
    expect(source(1000).uint32()).toBe(2923427691);
  });
});

describe('F2 the published evaluation of FAIR, decision by decision', () => {
  const evaluate = createEvaluation({ parity: 'fair-go' });
  const row = (scenario: Scenario, options?: Parameters<typeof evaluate>[1]) => {
    const { without, fair } = evaluate(scenario, options);
    return [
      fair.requests,
      without.jain.toFixed(4),
      fair.jain.toFixed(4),
      fair.failures,
      fair.throttled,
      `${(fair.used * 100).toFixed(2)}%`,
      fair.worst.toFixed(3),
    ];
  };

  test('api_noisy_neighbors', () => {
    const expected = [86_878, '0.2184', '0.6673', 4_471, 52_316, '99.97%', '0.585'];
    expect(row(scenarios.apiNoisyNeighbors)).toEqual(expected);
  });

  test('flash_crowd', () => {
    const expected = [59_965, '0.9871', '0.9778', 7_683, 15_995, '99.96%', '0.441'];
    expect(row(scenarios.flashCrowd)).toEqual(expected);
  });

  test('batch_surge', () => {
    const expected = [90_054, '0.7497', '0.9944', 1_652, 49_677, '89.39%', '0.651'];
    expect(row(scenarios.batchSurge)).toEqual(expected);
  });

  test('api_noisy_neighbors, tuned', () => {
    const tuned = { tuning: { columns: 1500, tolerableFailures: 60 }, lambdaPerSecond: 0 };
    const expected = [86_878, '0.2184', '0.8498', 2_231, 54_764, '99.28%', '0.653'];
    expect(row(scenarios.apiNoisyNeighbors, tuned)).toEqual(expected);
  });
});
