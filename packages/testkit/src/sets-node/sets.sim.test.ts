// The sets of one node in a world that fails: correct code survives every seed, each planted bug is found by
// a check that is meant to, and a seed gives the same run each time. `npm run test:sim` runs far more seeds.
import { expect, test } from 'vitest';
import { runSeeds } from '../simulation/run-seeds.js';
import { problemOf } from '../simulation/seeds-report.js';
import { PLANTED_SETS_BUGS, type PlantedSetsBug } from './planted-bug.js';
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

/** What a checker says of each: that a run failed somehow would prove nothing. */
const SYMPTOMS: Readonly<Record<PlantedSetsBug, RegExp>> = {
  'sets-one-dot': /S[1237]: |no dot is dropped twice/,
  'sets-no-op-counter': /S4: the operation .* follows/,
  'sets-no-new-dot': /S2: no serial order .*SADD/,
  'sets-repeats-kept': /S4: a stored dot is covered|S1: |S2: .* drops|S3: .* is stored with/,
  'sets-epoch-kept': /S3: the dot .* was already/,
  'sets-del-in-two': /S2: no serial order .*DEL/,
  'sets-smove-in-two': /S2: no serial order .*SMOVE/,
  'sets-store-in-two': /S2: no serial order .*STORE/,
  'sets-smove-onto-itself': /S2: no serial order/,
  'sets-journal-hole': /S6: (a start shows|record \d+ is folded before)/,
  'sets-early-reply': /S5: an answer left before/,
  'sets-undo-skipped': /S2: no serial order|S2: .* drops|S[347]: /,
};

test.each(PLANTED_SETS_BUGS)('a planted bug is found within 200 seeds: %s', async (bug) => {
  const report = await runSeeds(setsWorkload, { firstSeed: 1, seedsCount: 200, bug });
  expect(report.failed?.failure?.message).toMatch(SYMPTOMS[bug]);
});

test('a seed run twice gives one trace', async () => {
  const report = await runSeeds(setsWorkload, { firstSeed: 500, seedsCount: 5, isTwice: true });
  expect(report.unrepeatableSeed).toBeUndefined();
});
