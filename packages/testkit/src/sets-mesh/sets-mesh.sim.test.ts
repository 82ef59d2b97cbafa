// Sets on several nodes in a world that fails: correct code survives every seed, and each planted bug is found.
// `npm run test:sim` runs far more seeds.
import { expect, test } from 'vitest';
import { runSeeds } from '../simulation/run-seeds.js';
import { problemOf } from '../simulation/seeds-report.js';
import { setsMeshWorkload } from './mesh-workload.js';
import { PLANTED_MESH_BUGS, symptomOf } from './planted-mesh-bug.js';

const CHECKED =
  'S1 S2 S3 S4 S6 S11 whatever happens to nodes, disks and links, nothing acknowledged is lost and all nodes become equal';

const TIMEOUT_MS = 300_000;

test(
  CHECKED,
  async () => {
    const report = await runSeeds(setsMeshWorkload, { firstSeed: 1, seedsCount: 200 });
    expect(problemOf(report)).toBeUndefined();
    expect(report.missedProbes).toEqual([]);
  },
  TIMEOUT_MS,
);

test.each(PLANTED_MESH_BUGS)(
  'a planted bug is found within 200 seeds: %s',
  async (bug) => {
    const report = await runSeeds(setsMeshWorkload, { firstSeed: 1, seedsCount: 200, bug });
    expect(report.failed?.failure?.message).toMatch(symptomOf(bug));
  },
  TIMEOUT_MS,
);

test('a seed run twice gives one trace', async () => {
  const options = { firstSeed: 500, seedsCount: 3, isTwice: true };
  const report = await runSeeds(setsMeshWorkload, options);
  expect(report.unrepeatableSeed).toBeUndefined();
});
