// The grid of a job: its revision, its history, and what happens when the job is deleted and created again while its
// store cannot be reached.
import { createMemoryJobStore, type JobEvent, JobStatus, type JobStore } from '@syncline/jobs';
import { createSystemClock } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { writeStates } from '../../testing/write-states.js';
import { JobGrid } from './job-grid.js';

const jobId = 'nightly';

/** A store whose subscription to a job is reset, as with Firestore, once the job was created again. */
function resetting(store: JobStore, recreate: () => Promise<void>): JobStore {
  const subscribe = async function* (): AsyncGenerator<readonly JobEvent[]> {
    for await (const event of store.subscribe(jobId, { scope: {}, include: ['job'] })) {
      yield [event];
      if (event.kind === 'synced') break;
    }
    await recreate();
    yield [{ kind: 'gap', reason: 'reset', fromRevision: 1, toRevision: 1 }];
    for await (const event of store.subscribe(jobId, { scope: {}, include: ['job'] }))
      yield [event];
  };
  return Object.assign(Object.create(store) as JobStore, {
    subscribe: () => ({ batches: subscribe }),
  });
}

test('after a reset it has the cells of the new job, however many tasks that has', async () => {
  const store = createMemoryJobStore();
  const write = (tasks: readonly number[]) =>
    writeStates(
      store,
      jobId,
      tasks.map((taskId) => ({ taskId, tag: 'ingest', status: 1, message: '' })),
    );
  await store.createJob({ jobId, numTasks: 2 });
  await write([0, 1]);
  const recreated = resetting(store, async () => {
    await store.deleteJob(jobId);
    await store.createJob({ jobId, numTasks: 5 });
    await write([0, 1, 2, 3, 4]);
    await store.updateJob(jobId, { labels: { run: '2' } }); // the metadata comes after the states
  });
  const grid = new JobGrid({ store: recreated, clock: createSystemClock(), onStop() {} }, jobId);
  await grid.start();
  await expect
    .poll(() => JSON.parse(grid.part(0)))
    .toMatchObject({ job: { numTasks: 5 }, tags: [{ tag: 'ingest', counts: [0, 5, 0, 0, 0] }] });
  grid.stop();
  await store.close();
});

test('its revision counts leases, and its history ends with the latest values', async () => {
  const store = createMemoryJobStore();
  const { incarnation } = (await store.createJob({ jobId, numTasks: 2 })).job;
  await writeStates(store, jobId, [
    { taskId: 0, tag: 'ingest', status: JobStatus.finished, message: '' },
    { taskId: 1, tag: 'ingest', status: JobStatus.finished, message: '' },
  ]);
  const lease = { jobId, incarnation, epoch: 0, ttlMs: 0, holder: 'the test' };
  await store.lease({ ...lease, taskId: 0, action: 'claim' });
  const revision = (await store.getJob(jobId))?.revision;
  const grid = new JobGrid({ store, clock: createSystemClock(), onStop() {} }, jobId);
  await grid.start();
  const head = () => JSON.parse(grid.part(0)) as { revision: number; history: number[][] };
  await expect.poll(head).toMatchObject({ revision, isSynced: true });
  // Both states were written within milliseconds: one entry, with what holds after the second.
  expect(head().history).toEqual([[expect.any(Number), 0, 0, 2, 0, 0]]);
  await store.lease({ ...lease, taskId: 1, action: 'claim' });
  await expect.poll(() => head().revision).toBeGreaterThan(revision ?? 0);
  grid.stop();
  await store.close();
});
