// The counts in the job document equal those that are kept over all states.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JobAggregates } from '../aggregate/job-aggregates.js';
import { cellsOf, EMPTY_TALLY, tallyState } from './job-tally.js';

const NUM_TASKS = 3;
const tag = fc.constantFrom('a', 'b', '__proto__');
const write = fc.record({
  taskId: fc.integer({ min: 0, max: NUM_TASKS - 1 }),
  tag,
  status: fc.constantFrom(0, 1, 7, 2_147_483_647, -1, -2, -9),
});

test('J12 counts kept with every write equal the aggregates', () => {
  const expectedTags = fc.uniqueArray(tag);
  fc.assert(
    fc.property(expectedTags, fc.array(write), (tags, writes) => {
      const job = { numTasks: NUM_TASKS, expectedTags: tags };
      const aggregates = new JobAggregates(job);
      const statuses = new Map<string, number>();
      const writers = new Set<number>();
      let tally = EMPTY_TALLY;
      for (const { taskId, tag: name, status } of writes) {
        const key = `${taskId} ${name}`;
        const statusBefore = statuses.get(key);
        const isFirstOfTask = !writers.has(taskId);
        tally = tallyState(tally, { tag: name, status, statusBefore, isFirstOfTask });
        statuses.set(key, status);
        writers.add(taskId);
        aggregates.set(taskId, name, status);
      }
      expect(cellsOf(tally, job)).toEqual(aggregates.counts());
    }),
  );
});
