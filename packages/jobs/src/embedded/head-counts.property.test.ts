// The counts that a head carries from commit to commit equal those over all cells, also when many changes of
// a job meet in one batch, and after a restart.
import {
  createMemoryStorage,
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createStaffedJob, JOB_ID } from '../conformance/job-samples.js';
import type { JobStore } from '../job-store.js';
import { openEmbeddedJobStore } from './open-embedded-job-store.js';

const TAGS = ['a', 'b', 'c'];

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      taskId: fc.nat(2),
      tag: fc.constantFrom(...TAGS),
      status: fc.constantFrom(-3, -2, -1, 0, 1, 2_147_483_647),
    }),
  },
  { weight: 1, arbitrary: fc.record({ expectedTags: fc.subarray(TAGS) }) },
);

async function expectEqualCounts(store: JobStore): Promise<void> {
  const { jobs } = await store.listJobs({});
  const { cells, lostTasks } = await store.aggregate(JOB_ID, {});
  expect(jobs.map((job) => ({ cells: job.cells, lostTasks: job.lostTasks }))).toEqual([
    { cells, lostTasks },
  ]);
}

test('J12 a list of jobs counts what the aggregate counts', async () => {
  const batches = fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(batches, fc.subarray(TAGS), async (all, expectedTags) => {
      const storage = createMemoryStorage();
      const deps = {
        storage,
        clock: createSystemClock(),
        random: createSystemRandom(),
        logger: silentLogger,
        metrics: silentMetrics,
      };
      const store = await openEmbeddedJobStore(deps);
      const { writers } = await createStaffedJob(store, { expectedTags });
      for (const batch of all) {
        await Promise.all(
          batch.map(async (each) =>
            'tag' in each
              ? writers[each.taskId]?.set(each.tag, each.status)
              : store.updateJob(JOB_ID, each),
          ),
        );
        await expectEqualCounts(store);
      }
      await store.close();
      const again = await openEmbeddedJobStore(deps);
      await expectEqualCounts(again);
      await again.close();
    }),
    { numRuns: 40 },
  );
});
