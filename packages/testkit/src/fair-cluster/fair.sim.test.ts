// Fair throttling under faults: correct code survives every seed, each planted bug is found by the check that is
// meant to find it, and a seed gives the same run each time. `npm run test:sim` runs far more seeds.
import { expect, test } from 'vitest';
import { runSeeds } from '../simulation/run-seeds.js';
import { problemOf } from '../simulation/seeds-report.js';
import { fairWorkload } from './fair-workload.js';
import { PLANTED_FAIR_BUGS, type PlantedFairBug } from './planted-bug.js';

const CHECKED =
  'F5 F6 F7 F11 F14 F15 under combined faults nothing counts twice, views converge and decay, old seeds are not sent';

test(CHECKED, async () => {
  const report = await runSeeds(fairWorkload, { firstSeed: 1, seedsCount: 12 });
  expect(problemOf(report)).toBeUndefined();
  expect(report.seedsCount).toBe(12);
});

/** The message of the checker for each bug: a failure for another reason would prove nothing. */
const SYMPTOMS: Readonly<Record<PlantedFairBug, RegExp>> = {
  'fair-applied-again': /F5: the change .* was applied twice/,
  'fair-early-ack': /F6: seq \d+ was acknowledged before/,
  'fair-pending-kept': /F5: cell .* all its outcomes add up to/,
  'fair-blind-overwrite': /F6: cell .* with its own outcomes at least/,
  'fair-late-eviction': /F11: .* was sent too late/,
  'fair-lost-mark': /F6: (views do not converge|seq \d+ was acknowledged before)/,
  'fair-wall-clock-decay': /F(5|7|15): /,
};

test.each(PLANTED_FAIR_BUGS)('a planted bug is found within 100 seeds: %s', async (bug) => {
  const report = await runSeeds(fairWorkload, { firstSeed: 1, seedsCount: 100, bug });
  expect(report.failed?.failure?.message).toMatch(SYMPTOMS[bug]);
});

test('a seed run twice gives one trace', async () => {
  const report = await runSeeds(fairWorkload, { firstSeed: 500, seedsCount: 2, isTwice: true });
  expect(report.unrepeatableSeed).toBeUndefined();
});
