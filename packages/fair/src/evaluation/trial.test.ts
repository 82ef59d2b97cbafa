import { expect, test } from 'vitest';
import { openIsolatedFleet } from './fleet.js';
import { scenarios } from './scenario.js';
import { Trial } from './trial.js';
import { judge } from './verdict.js';

const scenario = { ...scenarios.apiNoisyNeighbors, durationSeconds: 60 };
const options = { policy: 'linear', instances: 1, intervalMs: 250 } as const;

test('a seed gives the same run again, and another seed another', async () => {
  const run = async (seed: number) =>
    judge(await new Trial(scenario, seed).play(openIsolatedFleet, options));
  expect(await run(1)).toEqual(await run(1));
  expect(await run(1)).not.toEqual(await run(2));
});

test('a tracker is fairer than none, and isolated instances are in between', async () => {
  const trial = new Trial(scenario, 3);
  const open = judge(trial.playOpen());
  const one = judge(await trial.play(openIsolatedFleet, options));
  const eight = judge(await trial.play(openIsolatedFleet, { ...options, instances: 8 }));
  expect(one.requests).toBe(open.requests);
  expect(one.jain).toBeGreaterThan(0.7);
  expect(eight.jain).toBeGreaterThan(open.jain + 0.02);
  expect(eight.jain).toBeLessThan(one.jain - 0.1);
});

test('the fleet shares once per interval, with the clock at its end, and is closed', async () => {
  const sharedAtMs: number[] = [];
  let closes = 0;
  await new Trial({ ...scenario, durationSeconds: 10 }, 1).play(
    async (settings) => {
      const fleet = await openIsolatedFleet(settings);
      const share = async () => void sharedAtMs.push(settings.clock.monotonicMs());
      const close = async () => {
        closes += 1;
      };
      return { ...fleet, share, close };
    },
    { ...options, intervalMs: 2_500 },
  );
  expect({ sharedAtMs, closes }).toEqual({ sharedAtMs: [2_500, 5_000, 7_500], closes: 1 });
});

test('a signal ends a run, and the fleet is closed', async () => {
  let closes = 0;
  const signal = AbortSignal.abort(new Error('enough'));
  const run = new Trial(scenario, 1).play(
    async (settings) => {
      const fleet = await openIsolatedFleet(settings);
      const close = async () => {
        closes += 1;
      };
      return { ...fleet, close };
    },
    { ...options, signal },
  );
  await expect(run).rejects.toThrow('enough');
  expect(closes).toBe(1);
});

test('the tally knows when the trackers rotated', async () => {
  const seeds: [number, number | undefined][] = [];
  const tally = await new Trial({ ...scenario, durationSeconds: 300 }, 1).play(async (settings) => {
    const fleet = await openIsolatedFleet(settings);
    const share = async () => {
      seeds.push([settings.clock.monotonicMs(), fleet.trackers[0]?.status().seeds.main]);
    };
    return { ...fleet, share };
  }, options);
  const rotated = seeds.find(([, seed]) => seed !== seeds[0]?.[1]);
  expect((rotated?.[0] ?? 0) / 1_000 - (tally.rotatedAtSeconds ?? 0)).toBeGreaterThanOrEqual(0);
  expect((rotated?.[0] ?? 0) / 1_000 - (tally.rotatedAtSeconds ?? 0)).toBeLessThan(0.5);
});
