import { expect, test } from 'vitest';
import { createMemoryJobStore } from '../memory/memory-job-store.js';
import { createJobManager } from './create-job-manager.js';

const names = { jobId: 'nightly', taskIndex: 0, numTasks: 1 };

test.each<[object, object, string, string]>([
  [{ tags: {} }, {}, 'tags', 'store, jobId, taskIndex, numTasks'],
  [{}, { onNumTaskMismatch: 'fail' }, 'onNumTaskMismatch', 'onNumTasksMismatch'],
  [{}, { lease: { ttl: 5_000 } }, 'ttl', 'ttlMs, heartbeat'],
  [{}, { retry: { retries: 9 } }, 'retries', 'attempts, initialMs, maxMs'],
  [{}, { toString: 1 }, 'toString', 'labels'],
])(
  'a name that is not known is refused with those that are: %j %j',
  async (target, options, field, known) => {
    const store = createMemoryJobStore();
    await expect(createJobManager({ store, ...names, ...target }, options)).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringContaining(known),
      details: { field },
    });
    expect((await store.listJobs({})).jobs).toEqual([]);
  },
);

test('all that are known are taken', async () => {
  const store = createMemoryJobStore();
  await using job = await createJobManager(
    { store, ...names },
    {
      tags: { ingest: {} },
      statuses: { parsing: 20 },
      labels: {},
      timeoutMs: 60_000,
      retry: { attempts: 40, initialMs: 100, maxMs: 3_000 },
      lease: { ttlMs: 5_000, heartbeat: 'manual' },
      onNumTasksMismatch: 'fail',
    },
  );
  expect(job.info.expectedTags).toEqual(['ingest']);
});
