// Invalid HTTP requests, against the real server: each gets its status, its code and its details, and changes
// nothing.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { askHttp } from './jobs-raw-client.js';
import { UnchangedJobs } from './jobs-unchanged.js';

let unchanged: UnchangedJobs;

beforeAll(async () => {
  unchanged = await UnchangedJobs.start();
});
beforeEach(() => unchanged.remember());
afterEach(() => unchanged.expectUnchanged());
afterAll(() => unchanged[Symbol.asyncDispose]());

describe('J20 over HTTP', () => {
  const http = (path: string, init?: RequestInit) =>
    askHttp(`${unchanged.cluster.node(1).url('http')}/api/jobs${path}`, init);

  test.each([
    ['/a%20b', 'jobId'],
    ['/-a', 'jobId'],
    [`/${'a'.repeat(129)}`, 'jobId'],
    ['/nightly?task=4', 'taskId'],
    ['/nightly?task=-1', 'task'],
    ['/nightly?tag=%07', 'tag'],
    ['/nightly?tag=', 'tag'],
    [`/nightly?tag=${'a'.repeat(129)}`, 'tag'],
    ['/nightly/states?limit=0', 'limit'],
    ['/nightly/states?afterRevision=9007199254740993', 'afterRevision'],
    ['/nightly/events?after=nonsense', 'after'],
    ['/nightly/events?task=4', 'taskId'],
    ['/nightly?nothing', 'nothing'],
    ['?worst=bad', 'worst'],
    ['?after=-a', 'afterJobId'],
  ])('%s', async (path, field) => {
    const expected = { status: 400, code: 'invalid-argument', details: { field } };
    expect(await http(path)).toMatchObject(expected);
  });

  test('a Last-Event-ID that is not a cursor', async () => {
    const refused = await http('/nightly/events', { headers: { 'last-event-id': 'nonsense' } });
    expect(refused).toMatchObject({ status: 400, details: { field: 'after' } });
  });

  test.each(['/nobody', '/nobody/states', '/nobody/events', '/nightly/nothing'])(
    '%s is not found',
    async (path) => {
      expect(await http(path)).toMatchObject({ status: 404, code: 'not-found' });
    },
  );

  test('a deletion of an unknown job, a malformed one, and a write', async () => {
    const method = 'DELETE';
    expect(await http('/nobody', { method })).toMatchObject({ status: 404, code: 'not-found' });
    expect(await http('/nightly?makr', { method })).toMatchObject({ status: 400 });
    const post = await http('/nightly/states', { method: 'POST', body: '{}' });
    expect(post.status).toBeGreaterThanOrEqual(400);
    expect(post.status).toBeLessThan(500);
  });

  test('an overlong URL', async () => {
    const { status: refused } = await http(`/nightly?tag=${'a'.repeat(100_000)}`);
    expect([414, 431]).toContain(refused);
  });
});
