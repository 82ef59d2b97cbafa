// Invalid input that only a manager can receive, against the real server: each has its code, and changes nothing.
import { createJobManager } from '@syncline/jobs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { jobId, UnchangedJobs } from './jobs-unchanged.js';

let unchanged: UnchangedJobs;

beforeAll(async () => {
  unchanged = await UnchangedJobs.start();
});
beforeEach(() => unchanged.remember());
afterEach(() => unchanged.expectUnchanged());
afterAll(() => unchanged[Symbol.asyncDispose]());

describe('J20 through a manager', () => {
  const target = () => ({ store: unchanged.store, jobId, taskIndex: 0, numTasks: 4 });

  test('a different number of tasks with `fail`', async () => {
    const options = { onNumTasksMismatch: 'fail' } as const;
    const opening = createJobManager({ ...target(), numTasks: 5 }, options);
    await expect(opening).rejects.toMatchObject({
      code: 'conflict',
      details: { reason: 'num-tasks' },
    });
  });

  test("another task's state, statuses that are not errors, payloads that are not JSON, and a closed manager", async () => {
    const manager = await createJobManager(target(), { lease: false });
    await unchanged.remember(); // the claim counts
    const refused = (field: string) => ({ code: 'invalid-argument', details: { field } });
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    const tag = 'a';
    for (const [call, expected] of [
      [() => manager.setState({ tag, status: 1, taskId: 1 }), refused('taskId')],
      [() => manager.setState({ tag, status: 1, jobId: 'other' }), refused('jobId')],
      [() => manager.setState({ tag, status: 2 ** 31 }), refused('status')],
      [() => manager.setError('x', { tag, status: 0 }), refused('status')],
      [() => manager.setError('x', { tag, status: -2 }), refused('status')],
      [() => manager.setStarted({ tag, payload: cyclic as never }), refused('payload')],
    ] as const)
      await expect(call()).rejects.toMatchObject(expected);
    await unchanged.expectUnchanged();
    await manager.close();
    await unchanged.remember(); // the release counts
    await expect(manager.setStarted({ tag })).rejects.toMatchObject({ code: 'closed' });
  });
});
