import { describe, expect, test } from 'vitest';
import { FAULTS, openFaultyFleet } from './faulty-fleet.js';
import { openIsolatedFleet } from './fleet.js';
import { scenarios } from './scenario.js';
import { Trial } from './trial.js';
import { judge } from './verdict.js';

const scenario = { ...scenarios.apiNoisyNeighbors, durationSeconds: 60 };
const { durationSeconds } = scenario;
const options = { policy: 'linear', instances: 4, intervalMs: 250 } as const;

describe('F16 noisy neighbors stay above the line without throttling', async () => {
  const trial = new Trial(scenario, 1);
  const open = judge(trial.playOpen());
  const isolated = judge(await trial.play(openIsolatedFleet, options));

  test.each(FAULTS)('while the fault is: %s', async (fault) => {
    const { jain, used } = judge(
      await trial.play(openFaultyFleet(fault, durationSeconds), options),
    );
    expect(jain).toBeGreaterThan(open.jain);
    expect(jain).toBeGreaterThan(isolated.jain + 0.05); // sharing badly is better than not at all
    expect(used).toBeGreaterThan(fault === 'killed' ? 0.95 : 0.99); // views joined by the largest throttle more
  });
});

test('without a fault, instances that share decide nearly as one', async () => {
  const trial = new Trial(scenario, 2);
  const one = judge(await trial.play(openIsolatedFleet, { ...options, instances: 1 }));
  const shared = judge(await trial.play(openFaultyFleet('none', durationSeconds), options));
  const isolated = judge(await trial.play(openIsolatedFleet, options));
  expect(Math.abs(shared.jain - one.jain)).toBeLessThan(0.03);
  expect(isolated.jain).toBeLessThan(one.jain - 0.1);
});

test('a run with faults can be repeated', async () => {
  const play = async () =>
    judge(await new Trial(scenario, 3).play(openFaultyFleet('loss', durationSeconds), options));
  expect(await play()).toEqual(await play());
});
