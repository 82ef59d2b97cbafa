import { scenarios } from '@syncline/fair/testing';
import { expect, test } from 'vitest';
import { type EvalFlags, planEval } from './eval-plan.js';
import { evalRows, rowTitle } from './eval-row.js';

test('the default is all scenarios with both policies and one instance', () => {
  const plan = planEval({});
  expect(plan.scenarios).toEqual(Object.values(scenarios));
  expect(plan).toMatchObject({ seeds: 20, intervalMs: 250, via: 'service' });
  expect(evalRows(scenarios.flashCrowd, plan).map(rowTitle)).toEqual([
    'no throttling',
    'exponential, one instance',
    'linear, one instance',
  ]);
});

test('a fleet that shares is compared with one of the same size that does not', () => {
  const plan = planEval({ policy: 'linear', instances: '1,2,8', via: 'redis' });
  expect(evalRows(scenarios.flashCrowd, plan).map(rowTitle)).toEqual([
    'no throttling',
    'linear, one instance',
    'linear, 2 × isolated',
    'linear, 2 × Redis',
    'linear, 8 × isolated',
    'linear, 8 × Redis',
  ]);
  expect(evalRows(scenarios.flashCrowd, { ...plan, via: 'isolated' })).toHaveLength(4);
});

test('--check runs the fleets that have a threshold, --faults one fleet per fault', () => {
  const { apiNoisyNeighbors, flashCrowd } = scenarios;
  const check = planEval({ check: true });
  expect(check.instancesFor(apiNoisyNeighbors)).toEqual([2, 4, 8]);
  expect(check.instancesFor(flashCrowd)).toEqual([]);
  expect(planEval({ check: true, instances: '3' }).instancesFor(flashCrowd)).toEqual([3]);
  const faults = planEval({ faults: true, check: true });
  expect(faults.scenarios).toEqual([apiNoisyNeighbors]);
  expect(faults.instancesFor(apiNoisyNeighbors, 'loss')).toEqual([4]);
  expect(faults.instancesFor(apiNoisyNeighbors, 'killed')).toEqual([8]);
  const asked = planEval({ faults: true, instances: '2,3' });
  expect(asked.instancesFor(apiNoisyNeighbors, 'killed')).toEqual([2, 3]);
});

test('a scenario can be given by its short or its full name', () => {
  for (const scenario of ['noisy-neighbors', 'api_noisy_neighbors', 'api-noisy-neighbors'])
    expect(planEval({ scenario }).scenarios).toEqual([scenarios.apiNoisyNeighbors]);
});

test('invalid values are refused, with what is allowed', () => {
  const refusals: readonly (readonly [EvalFlags, RegExp])[] = [
    [{ scenario: 'flash-crowds' }, /--scenario is "flash-crowds".*Did you mean "flash-crowd"/],
    [{ policy: 'afd' }, /--policy is "afd"; expected one of exponential, linear/],
    [{ via: 'mesh' }, /--via is "mesh"; expected one of isolated, service, redis/],
    [{ instances: '0' }, /--instances is "0"; expected an integer from 1 to 64/],
    [{ instances: '2,,4' }, /--instances is ""/],
    [{ instances: '65' }, /from 1 to 64/],
    [{ intervalMs: '5' }, /--interval-ms is "5"; expected an integer from 10 to 10000/],
    [{ intervalMs: '1e3' }, /--interval-ms is "1e3"/],
    [{ seeds: '-1' }, /--seeds is "-1"; expected an integer from 1 to 1000/],
    [{ picture: 'fair.png' }, /--picture is "fair.png".*\.svg or \.html/],
    [{ redisUrl: 'redis://127.0.0.1' }, /--redis-url requires "--via redis"/],
    [{ redisUrl: 'http://127.0.0.1', via: 'redis' }, /--redis-url is not a URL such as redis:/],
    [{ faults: true, via: 'redis' }, /--faults requires the state service/],
    [{ faults: true, scenario: 'flash-crowd' }, /only runs noisy-neighbors/],
    [{ faults: true, picture: 'fair.svg' }, /cannot draw a chart/],
  ];
  for (const [flags, text] of refusals) {
    expect(() => planEval(flags)).toThrow(text);
    expect(() => planEval(flags)).toThrow(expect.objectContaining({ code: 'invalid-argument' }));
  }
});

test('a URL with a password is not repeated', () => {
  const flags = { via: 'redis', redisUrl: 'http://user:s3cret@host' };
  expect(() => planEval(flags)).toThrow(/^(?!.*s3cret)/);
});
