// The sets of one node in a world that fails: correct code survives every seed, each planted bug is found by
// a check that is meant to, and a seed gives the same run each time. `npm run test:sim` runs far more seeds.
import { expect, test } from 'vitest';
import { runSeeds } from '../simulation/run-seeds.js';
import { problemOf } from '../simulation/seeds-report.js';
import { PLANTED_SETS_BUGS } from './planted-bug.js';
import { setsWorkload } from './sets-workload.js';

const CHECKED =
  'S1 S2 S3 S4 S5 S6 S7 whatever ends the process or fails its disk, answers keep a serial order and their promises';

/** About 15 s of one core, and far more on a busy machine. */
const TIMEOUT_MS = 300_000;

test(
  CHECKED,
  async () => {
    const report = await runSeeds(setsWorkload, { firstSeed: 1, seedsCount: 100 });
    expect(problemOf(report)).toBeUndefined();
    expect(report.seedsCount).toBe(100);
  },
  TIMEOUT_MS,
);

/** A checker or an assert names the promise that was broken: that a run failed somehow would prove nothing. */
const BROKEN_PROMISE = /S\d+: |S\d+ /;

test.each(PLANTED_SETS_BUGS)('a planted bug is found within 200 seeds: %s', async (bug) => {
  const report = await runSeeds(setsWorkload, { firstSeed: 1, seedsCount: 200, bug });
  expect(report.failed?.failure?.message).toMatch(BROKEN_PROMISE);
});

test('a seed run twice gives one trace', async () => {
  const report = await runSeeds(setsWorkload, { firstSeed: 500, seedsCount: 5, isTwice: true });
  expect(report.unrepeatableSeed).toBeUndefined();
});
