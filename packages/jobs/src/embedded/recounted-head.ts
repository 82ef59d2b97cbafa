// The head of a job with its counts made anew from the cells that are there.
import { countsOfHead, type JobHead } from './head.js';
import type { LoadedJob } from './loaded-job.js';

export function recountedHead(job: LoadedJob): JobHead {
  const { row, tags, places, aggregates } = job;
  let silentTasks = 0;
  for (let taskId = 0; taskId < row.numTasks; taskId += 1) {
    if (!places.hasWritten(taskId)) silentTasks += 1;
  }
  let expectedWritten = 0;
  for (const tag of row.expectedTags) {
    const tagNo = tags.numberOf(tag);
    if (tagNo !== undefined) expectedWritten += places.writtenCount(tagNo);
  }
  const written = { notStarted: 0, running: 0, finished: 0, warned: 0, failed: 0 };
  const head = { ...job.head, written, silentTasks, expectedWritten };
  const { total: _, ...all } = aggregates.counts();
  const unwritten = countsOfHead(row, head).notStarted;
  return {
    ...head,
    written: { ...all, notStarted: all.notStarted - unwritten },
    statesCount: places.count,
    lostTasks: aggregates.lostTasks.size,
    sums: job.found,
  };
}
