// Closing a manager, whatever its subscriptions and schemas do; and readers of a job that is created again.
import { afterEach, expect, test } from 'vitest';
import { OpenStores } from '../conformance/open-stores.js';
import { overrideStore, schemaOf } from '../conformance/override-store.js';
import type { JobSubscription } from '../job-store.js';
import { createJobManager, createJobReader } from './create-job-manager.js';

const stores = new OpenStores();
afterEach(() => stores.close());

const names = { jobId: 'nightly', taskIndex: 0, numTasks: 2 };

test('J21 a subscription that cannot be ended is reported, once the lease is released', async () => {
  const memory = stores.create();
  const actions: string[] = [];
  const store = overrideStore(memory, {
    subscribe: (jobId, options): JobSubscription =>
      new Proxy(memory.subscribe(jobId, options), {
        get: (target, name) =>
          name === Symbol.asyncDispose
            ? () => Promise.reject(new RangeError('stuck'))
            : Reflect.get(target, name, target),
      }),
    lease(request, call) {
      actions.push(request.action);
      return memory.lease(request, call);
    },
  });
  const job = await createJobManager({ store, ...names });
  job.subscribe();
  await expect(job.close()).rejects.toThrow('stuck');
  expect(actions).toEqual(['claim', 'release']);
});

test('J21 a schema that never resolves does not delay closing beyond timeoutMs', async () => {
  const store = stores.create();
  const silent = schemaOf(() => new Promise<never>(() => {}));
  const job = await createJobManager(
    { store, ...names },
    { tags: { ingest: { schema: silent } }, timeoutMs: 1_000 },
  );
  const writing = job.setStarted({ tag: 'ingest', payload: {} });
  const failed = expect(writing).rejects.toMatchObject({ code: 'timeout', outcome: 'not-applied' });
  await job.close();
  await failed;
  await using next = await createJobManager({ store, ...names });
  expect((await next.heartbeat()).epoch).toBe(2);
});

test('a reader can read tasks that exist only since the job was created again', async () => {
  const store = stores.create();
  await store.createJob({ jobId: 'nightly', numTasks: 1 });
  await using reader = await createJobReader({ store, jobId: 'nightly' });
  await store.deleteJob('nightly');
  await using task = await createJobManager({ store, jobId: 'nightly', taskIndex: 4, numTasks: 5 });
  await task.setStarted({ tag: 'ingest' });
  const scope = { taskId: 4, tag: 'ingest' };
  expect(await reader.getState(scope)).toMatchObject({ version: 1 });
  expect((await reader.waitFor(scope, () => true)).cells.running).toBe(1);
  await expect(reader.getState({ taskId: 5 })).rejects.toMatchObject({ code: 'invalid-argument' });
});

test('a subscription that resumes can be resumed again before its first event', async () => {
  const store = stores.create();
  await using job = await createJobManager({ store, ...names });
  const first = job.subscribe();
  for await (const event of first) if (event.kind === 'synced') break;
  const after = first.cursor;
  if (after === undefined) throw new Error('no cursor');
  await using second = job.subscribe({ after });
  expect(second.cursor).toBe(after);
});
