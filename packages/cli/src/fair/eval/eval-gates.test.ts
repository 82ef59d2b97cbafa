import { scenarios } from '@syncline/fair/testing';
import { expect, test } from 'vitest';
import { checkScenario } from './eval-gates.js';
import type { EvalRow } from './eval-row.js';
import type { SeriesResult } from './eval-scenario.js';

const good = {
  requests: 100,
  successes: 50,
  failures: 5,
  throttled: 45,
  jain: 0.98,
  jain30: 0.98,
  used: 1,
  worst: 0.8,
  failuresPerSuccess: 0.1,
};

function row(facts: Partial<Extract<EvalRow, { kind: 'fleet' }>>, change = {}): SeriesResult {
  const fleet = {
    kind: 'fleet',
    policy: 'linear',
    via: 'isolated',
    instances: 1,
    ...facts,
  } as const;
  return { row: fleet, verdict: { ...good, ...change }, series: [] };
}

test('a single instance with the linear policy has minimum values', () => {
  const { apiNoisyNeighbors, batchSurge, flashCrowd } = scenarios;
  expect(checkScenario({ scenario: apiNoisyNeighbors, rows: [row({})] })).toEqual({
    checked: 2,
    failures: [],
  });
  const low = { jain: 0.85, jain30: 0.96, used: 0.91 };
  expect(checkScenario({ scenario: apiNoisyNeighbors, rows: [row({}, low)] }).failures).toEqual([
    'noisy-neighbors, linear, one instance: J is 0.8500, below 0.86',
    'noisy-neighbors, linear, one instance: used is 0.9100, below 0.999',
  ]);
  expect(checkScenario({ scenario: batchSurge, rows: [row({}, low)] }).failures).toEqual([
    'batch-surge, linear, one instance: J30 is 0.9600, below 0.97',
    'batch-surge, linear, one instance: used is 0.9100, below 0.915',
  ]);
  expect(checkScenario({ scenario: flashCrowd, rows: [row({}, low)] }).failures).toHaveLength(1);
  const others = [row({ policy: 'exponential' }, low), row({ instances: 8 }, low)];
  expect(checkScenario({ scenario: apiNoisyNeighbors, rows: others }).checked).toBe(0);
});

test('a fleet that shares state must be as fair as a single instance with the same policy', () => {
  const alone = row({}, { jain: 0.9 });
  const other = row({ policy: 'exponential' }, { jain: 0.7, failuresPerSuccess: 0.3 });
  const check = (...fleets: SeriesResult[]) =>
    checkScenario({ scenario: scenarios.apiNoisyNeighbors, rows: [other, alone, ...fleets] });
  const shared = { via: 'service', instances: 4 } as const;
  expect(check(row(shared, { jain: 0.891 }))).toEqual({ checked: 4, failures: [] });
  expect(check(row(shared, { jain: 0.889, failuresPerSuccess: 0.106 })).failures).toEqual([
    expect.stringMatching(/linear, 4 × state service: J is 0\.0110 away/),
    expect.stringMatching(/failures per success are 1\.060 times/),
  ]);
  expect(check(row({ via: 'isolated', instances: 4 }, { jain: 0.3 })).failures).toEqual([]);
});

test('a rotation may cost only little fairness, with one instance or with several that share state', () => {
  const check = (...rows: SeriesResult[]) =>
    checkScenario({ scenario: scenarios.apiNoisyNeighbors, rows }).failures;
  const deep = { rotationDip: 0.021 };
  expect(check(row({}, { rotationDip: 0.02 }))).toEqual([]);
  expect(check(row({}, deep), row({ via: 'service', instances: 2 }, deep))).toEqual([
    'noisy-neighbors, linear, one instance: after a rotation J30 is 0.0210 lower; at most 0.02 is allowed',
    expect.stringMatching(/2 × state service: after a rotation J30 is 0\.0210 lower/),
  ]);
  expect(check(row({ instances: 2 }, deep))).toEqual([]);
});
