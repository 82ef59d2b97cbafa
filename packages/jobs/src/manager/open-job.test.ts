// What is logged when the job already exists with different tags.
import { type Logger, silentLogger } from '@syncline/kernel';
import { afterEach, expect, test, vi } from 'vitest';
import { OpenStores } from '../conformance/open-stores.js';
import { createJobManager } from './create-job-manager.js';
import type { JobManager, TagSchemas } from './job-manager.js';

const stores = new OpenStores();
afterEach(() => stores.close());

/** The warnings of a process that declares `tags` for a job that expects `ingest` and `report`. */
async function warningsFor(tags?: TagSchemas): Promise<readonly unknown[]> {
  const target = { store: stores.create(), jobId: 'nightly', numTasks: 2 };
  const warn = vi.fn();
  const log: Logger = { ...silentLogger, warn, child: () => log };
  const first = { tags: { report: {}, ingest: {} }, log };
  await using _first = await createJobManager({ ...target, taskIndex: 0 }, first);
  const options = { log, ...(tags === undefined ? {} : { tags }) };
  await using second = await createJobManager({ ...target, taskIndex: 1 }, options);
  expect(second.info.expectedTags.toSorted()).toEqual(['ingest', 'report']);
  return warn.mock.calls;
}

test.each([
  ['one more', { ingest: {}, report: {}, export: {} }, ['ingest', 'report', 'export']],
  ['one less', { ingest: {} }, ['ingest']],
  ['one that is no longer expected', { ingest: {}, report: { expected: false } }, ['ingest']],
])('tags that differ from those of the job are logged: %s', async (_what, tags, declared) => {
  expect(await warningsFor(tags)).toEqual([
    [expect.stringMatching(/^🟡 .* different tags/), expect.objectContaining({ declared })],
  ]);
});

test('the same tags in another order, and none, are no difference', async () => {
  expect(await warningsFor({ ingest: {}, report: {}, cleanup: { expected: false } })).toEqual([]);
  expect(await warningsFor()).toEqual([]);
});

test('without a logger, a different number of tasks is a warning of Node', async () => {
  const emitWarning = vi.spyOn(globalThis.process, 'emitWarning').mockImplementation(() => {});
  const target = { store: stores.create(), jobId: 'nightly', numTasks: 2 };
  await using _first = await createJobManager({ ...target, taskIndex: 0 });
  expect(emitWarning).not.toHaveBeenCalled();
  await using _second = await createJobManager({ ...target, taskIndex: 1, numTasks: 3 });
  expect(emitWarning.mock.calls).toEqual([
    [expect.stringMatching(/^@syncline\/jobs: 🟡 .* number of tasks.*numTasks: 2, given: 3/)],
  ]);
});

test('a report without its arguments is refused by name, also in JavaScript', async () => {
  const target = { store: stores.create(), jobId: 'nightly', taskIndex: 0, numTasks: 1 };
  await using job = await createJobManager(target);
  const untyped = job as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  for (const [method, ...args] of [['setStarted'], ['setFinished'], ['setWarning', 'slow']]) {
    const refused = untyped[method as string]?.(...args);
    await expect(refused).rejects.toMatchObject({
      code: 'invalid-argument',
      details: expect.objectContaining({ field: 'tag' }),
    });
  }
  const wrong = untyped['setFinished']?.({ tag: 'ingest', message: null });
  await expect(wrong).rejects.toMatchObject({
    details: expect.objectContaining({ field: 'message' }),
  });
  await expect(untyped['setError']?.(new Error('x'))).rejects.toMatchObject({
    code: 'invalid-argument',
  });
});

test('a write to a tag that was not declared is refused, also in JavaScript', async () => {
  const target = { store: stores.create(), jobId: 'nightly', taskIndex: 0, numTasks: 1 };
  await using job = await createJobManager(target, { tags: { ingest: {}, report: {} } });
  const untyped = job as unknown as JobManager;
  await expect(untyped.setStarted({ tag: 'ingets' })).rejects.toMatchObject({
    code: 'invalid-argument',
    message: 'tag is "ingets"; expected one of the declared tags: ingest, report',
    details: { field: 'tag' },
  });
  expect((await job.getProgress()).tags.map(({ tag }) => tag)).toEqual(['ingest', 'report']);
});
