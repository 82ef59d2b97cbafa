// The job store under faults: correct code survives every seed, each planted bug is found by a check that is meant to
// find it, and a seed gives the same run each time. `npm run test:sim` runs far more seeds.
import { expect, test } from 'vitest';
import { runSeeds } from '../simulation/run-seeds.js';
import { problemOf } from '../simulation/seeds-report.js';
import { PLANTED_JOBS_BUGS, type PlantedJobsBug } from './bugs/planted-bug.js';
import { jobsWorkload } from './jobs-workload.js';

const CHECKED =
  'J1 J2 J3 J4 J5 J6 J7 J8 J9 J10 J11 J12 J13 J15 J16 J18 J19 J21 whatever ends processes, fails the disk or loses calls, everything reported to clients remains true';

/** About 8 s of one core, and far more on a busy machine. */
const TIMEOUT_MS = 300_000;

test(
  CHECKED,
  async () => {
    const report = await runSeeds(jobsWorkload, { firstSeed: 1, seedsCount: 40 });
    expect(problemOf(report)).toBeUndefined();
    expect(report.seedsCount).toBe(40);
  },
  TIMEOUT_MS,
);

/** Data that cannot be read back was removed or lost. */
const LOST = /J3: |J8|J12: |got corrupt/;
/** And data that replaces it shows up in streams that resume with old cursors. */
const LOST_UNNOTICED = /revision \d+ of .* for another|J[378]|J12: |got corrupt/;

/** The expected failure of each. A run that failed for another reason would prove nothing. */
const SYMPTOMS: Readonly<Record<PlantedJobsBug, RegExp>> = {
  'jobs-publish-before-sync': /J4: /,
  'jobs-ack-before-sync': /J4: /,
  'jobs-synced-as-buffered': /J4: .* is buffered, not synced/,
  'jobs-epoch-not-durable': /J4: .* is buffered, not synced|J3: epoch/,
  'jobs-event-id-forgotten': /J2: event/,
  'jobs-fence-skipped': /J13: /,
  'jobs-new-event-id': /J2: "text/,
  'jobs-compaction-drops-latest': LOST,
  'jobs-compaction-not-secured': LOST,
  'jobs-gap-not-reported': /J7/,
  'jobs-resume-off-by-one': /J[79]/,
  'jobs-renewal-ignored': /J18: .* ms after a renewal/,
  'jobs-lost-too-early': /J18: .* ms after a renewal/,
  'jobs-start-forgets-leases': /J18: .* silent and not lost/,
  'jobs-buffered-cursors-not-reset': /revision \d+ of .* for another|J1: .* follows|J[78]/,
  'jobs-buffered-mark-not-synced': LOST_UNNOTICED,
  'jobs-stop-trusts-buffered': LOST_UNNOTICED,
  'jobs-timestamp-falls': /J19: /,
  'jobs-delete-leaves-rows': /J3: deleted jobs have left/,
  'jobs-tasks-as-asked': /J15: /,
};

/** A seed that finds a rare bug, tried first. A change of the code may shift it, which only costs time. */
const FIRST_SEEDS: Readonly<Partial<Record<PlantedJobsBug, number>>> = {
  'jobs-gap-not-reported': 32,
  'jobs-renewal-ignored': 32,
  'jobs-stop-trusts-buffered': 57,
};

test.each(PLANTED_JOBS_BUGS)(
  'a planted bug is found within 200 seeds: %s',
  async (bug) => {
    const firstSeed = FIRST_SEEDS[bug] ?? 1;
    const report = await runSeeds(jobsWorkload, { firstSeed, seedsCount: 200, bug });
    expect(report.failed?.failure?.message).toMatch(SYMPTOMS[bug]);
  },
  TIMEOUT_MS,
);

test('a seed run twice gives one trace', async () => {
  const report = await runSeeds(jobsWorkload, { firstSeed: 500, seedsCount: 5, isTwice: true });
  expect(report.unrepeatableSeed).toBeUndefined();
});
