// Invalid gRPC requests, against the real server: each row of the table of bad input gets its code, its status and
// its details, and changes nothing.
//
// Too many jobs and too many subscribers are tested in jobs-hostile-clients.int.test.ts; a full queue of writes and a
// million states where time and memory are simulated: packages/jobs/src/embedded, packages/jobs/src/core.
import { status } from '@grpc/grpc-js';
import type { LeaseRequest, StateWrite } from '@syncline/jobs';
import { type Call, jobCalls } from '@syncline/jobs/grpc';
import { encode } from '@syncline/kernel/wire';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { encodeSubscribe, endOf, JobsRawClient, type Refusal } from './jobs-raw-client.js';
import { JobsTask } from './jobs-task.js';
import { jobId, UnchangedJobs } from './jobs-unchanged.js';

let unchanged: UnchangedJobs;
let client: JobsRawClient;

beforeAll(async () => {
  unchanged = await UnchangedJobs.start();
  client = new JobsRawClient(unchanged.cluster.node(1).url('grpc'));
});
beforeEach(() => unchanged.remember());
afterEach(() => unchanged.expectUnchanged());
afterAll(async () => {
  client[Symbol.dispose]();
  await unchanged[Symbol.asyncDispose]();
});

function ask<Request>(
  call: Pick<Call<Request, unknown>, 'name' | 'request'>,
  request: Request,
): Promise<Uint8Array | Refusal> {
  return client.call(call.name, encode(call.request, request));
}

const write = (more: Partial<StateWrite> & { readonly payloadJson?: string } = {}) => {
  const { payload: _, ...rest } = unchanged.task.write('ingest', 6);
  return ask(jobCalls.setState, { ...rest, ...more });
};
const create = (more: object = {}) =>
  ask(jobCalls.createJob, { jobId: 'other', numTasks: 1, expectedTags: [], labels: {}, ...more });
const claim = (more: object = {}) => {
  const { incarnation } = unchanged.task.job;
  const request = {
    jobId,
    incarnation,
    taskId: 0,
    action: 'claim',
    epoch: 0,
    ttlMs: 0,
    holder: '',
  };
  return ask(jobCalls.heartbeat, { ...(request as LeaseRequest), ...more });
};
const remove = (id: string, taskId?: number) => {
  return ask(jobCalls.deleteJob, taskId === undefined ? { jobId: id } : { jobId: id, taskId });
};
const follow = (more: Parameters<typeof encodeSubscribe>[1] = {}, of = jobId) =>
  endOf(client.subscribe(encodeSubscribe(of, more)));
const labels = (count: number, name = 'n', value = 'v') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}${index}`, value]));
const nested = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`;

describe('J20 over gRPC', () => {
  const invalid: readonly [string, string, () => Promise<unknown>][] = [
    ['a job id with a space', 'jobId', () => create({ jobId: 'a b' })],
    ['a job id that begins with a dash', 'jobId', () => create({ jobId: '-a' })],
    ['a job id of 129 letters', 'jobId', () => create({ jobId: 'a'.repeat(129) })],
    ['an empty tag', 'tag', () => write({ tag: '' })],
    ['a tag with a control character', 'tag', () => write({ tag: 'a\u0007' })],
    ['a tag of 129 bytes', 'tag', () => write({ tag: 'a'.repeat(129) })],
    ['an empty event id', 'eventId', () => write({ eventId: '' })],
    ['an event id beyond ASCII', 'eventId', () => write({ eventId: 'ä' })],
    ['an event id of 65 letters', 'eventId', () => write({ eventId: 'e'.repeat(65) })],
    ['an invalid cursor', 'after', () => follow({ after: 'nonsense' })],
    ['a cursor beyond 2^53', 'after', () => follow({ after: '1:9999999999999999' })],
    ['a write for a task that does not exist', 'taskId', () => write({ taskId: 4 })],
    ['a claim for a task that does not exist', 'taskId', () => claim({ taskId: 4 })],
    [
      'a subscription to a task that does not exist',
      'taskId',
      () => follow({ scope: { taskId: 4 } }),
    ],
    [
      'a read of a task that does not exist',
      'taskId',
      () => ask(jobCalls.getProgress, { jobId, scope: { taskId: 4 } }),
    ],
    ['a deletion by a task that does not exist', 'taskId', () => remove(jobId, 4)],
    ['no tasks', 'numTasks', () => create({ numTasks: 0 })],
    ['100,001 tasks', 'numTasks', () => create({ numTasks: 100_001 })],
    ['a ttl of 999 ms', 'ttlMs', () => claim({ ttlMs: 999 })],
    ['a ttl of an hour and 1 ms', 'ttlMs', () => claim({ ttlMs: 3_600_001 })],
    ['a holder of 129 letters', 'holder', () => claim({ holder: 'h'.repeat(129) })],
    ['a buffer of 3 events', 'buffer.maxEvents', () => follow({ bufferEvents: 3 })],
    ['a buffer of 65,537 events', 'buffer.maxEvents', () => follow({ bufferEvents: 65_537 })],
    ['a buffer below 64 KiB', 'buffer.maxBytes', () => follow({ bufferBytes: 65_535 })],
    ['a buffer above 16 MiB', 'buffer.maxBytes', () => follow({ bufferBytes: 2 ** 24 + 1 })],
  ];
  test.each(invalid)('%s', async (_, field, call) => {
    const expected = { status: status.INVALID_ARGUMENT, code: 'invalid-argument' };
    expect(await call()).toMatchObject({ ...expected, details: { field } });
  });

  test.each([
    ['a list', '[1]'],
    ['an incomplete object', '{"a":'],
    ['a number that is not finite', '{"a":1e999}'],
    ['17 objects deep', nested(17)],
  ])('a payload that is %s', async (_, payloadJson) => {
    expect(await write({ payloadJson })).toMatchObject({
      status: status.INVALID_ARGUMENT,
      code: 'invalid-argument',
      details: { field: 'payload', issues: [{ message: expect.any(String) }] },
    });
  });

  const tooMuch: readonly [string, string, () => Promise<unknown>][] = [
    ['a message of 4,097 bytes', 'messageBytesMax', () => write({ message: 'x'.repeat(4_097) })],
    [
      'a payload of 65,537 bytes',
      'payloadBytesMax',
      () => write({ payloadJson: JSON.stringify({ a: 'x'.repeat(65_537 - 8) }) }),
    ],
    ['a request above 128 KiB', 'requestBytesMax', () => write({ message: 'x'.repeat(131_072) })],
    ['17 labels', 'labelsMax', () => create({ labels: labels(17) })],
    [
      'a label name of 65 bytes',
      'labelNameBytesMax',
      () => create({ labels: labels(1, 'n'.repeat(64)) }),
    ],
    [
      'a label of 257 bytes',
      'labelValueBytesMax',
      () => create({ labels: labels(1, 'n', 'v'.repeat(257)) }),
    ],
    [
      '257 expected tags',
      'tagsPerJobMax',
      () => create({ expectedTags: Array.from({ length: 257 }, (_, index) => `t${index}`) }),
    ],
  ];
  test.each(tooMuch)('%s', async (_, limit, call) => {
    const expected = { status: status.RESOURCE_EXHAUSTED, code: 'limit-exceeded' };
    expect(await call()).toMatchObject({ ...expected, details: { limit } });
  });

  const unknownJob: readonly [string, () => Promise<unknown>][] = [
    ['write', () => write({ jobId: 'nobody' })],
    ['claim', () => claim({ jobId: 'nobody' })],
    ['subscribe', () => follow({}, 'nobody')],
    ['read', () => ask(jobCalls.getProgress, { jobId: 'nobody', scope: {} })],
    [
      'list',
      () => ask(jobCalls.listStates, { jobId: 'nobody', scope: {}, afterRevision: 0, limit: 1 }),
    ],
    ['delete', () => remove('nobody')],
  ];
  test.each(unknownJob)('an unknown job: %s', async (_, call) => {
    expect(await call()).toMatchObject({ status: status.NOT_FOUND, code: 'not-found' });
  });

  const fenced: readonly [string, () => Promise<unknown>][] = [
    ['an epoch that was never assigned', () => write({ epoch: 9 })],
    ['no claim', () => write({ taskId: 2, epoch: 0 })],
    ['another incarnation', () => write({ incarnation: '999' })],
    ['a claim with another incarnation', () => claim({ incarnation: '999' })],
    ['a renewal with an old epoch', () => claim({ action: 'renew', taskId: 1, epoch: 0 })],
  ];
  test.each(fenced)('%s is fenced', async (_, call) => {
    expect(await call()).toMatchObject({
      status: status.FAILED_PRECONDITION,
      code: 'fenced',
      details: { reason: expect.stringMatching(/^(epoch|incarnation)$/) },
    });
  });

  test('an event id with different content', async () => {
    expect(await write({ eventId: '1.1.1', message: 'another' })).toMatchObject({
      status: status.FAILED_PRECONDITION,
      code: 'conflict',
      details: { reason: 'event-id' },
    });
  });

  test('an unknown method', async () => {
    const refused = await client.call('Nothing', new Uint8Array());
    expect(refused).toMatchObject({ status: status.UNIMPLEMENTED });
  });
});

test('J20 a job that is marked deleted accepts no writes, and its name is not free', async () => {
  const marked = await JobsTask.claim(unchanged.store, { jobId: 'marked' });
  await unchanged.store.markJobDeleted('marked');
  const conflict = {
    status: status.FAILED_PRECONDITION,
    code: 'conflict',
    details: { reason: 'marked-deleted' },
  };
  const { incarnation } = marked.job;
  expect(await write({ jobId: 'marked', incarnation, taskId: 0, epoch: 1 })).toMatchObject(
    conflict,
  );
  expect(await claim({ jobId: 'marked', incarnation })).toMatchObject(conflict);
  expect(await create({ jobId: 'marked' })).toMatchObject(conflict);
  await unchanged.store.deleteJob('marked');
});

test('J20 the 257th tag of a job is refused, the others can still be written', async () => {
  const full = await JobsTask.claim(unchanged.store, { jobId: 'full' });
  const tags = Array.from({ length: 256 }, (_, index) => `t${index}`);
  await Promise.all(tags.map((tag) => full.set(tag, 1, { durability: 'buffered' })));
  await expect(full.set('one more', 1)).rejects.toMatchObject({
    code: 'limit-exceeded',
    details: { limit: 'tagsPerJobMax' },
  });
  expect((await full.set('t0', 2)).version).toBe(2);
  await unchanged.store.deleteJob('full');
});

test('J20 bytes that are not a request get an error, and change nothing', async () => {
  const { payload: _, ...whole } = unchanged.task.write('ingest', 7);
  const request = encode(jobCalls.setState.request, whole);
  const status32 = Buffer.from([(6 << 3) | 5, 1, 0, 0, 0]); // the status as four bytes
  for (const name of ['CreateJob', 'SetState', 'Heartbeat', 'DeleteJob', 'ListStates']) {
    for (const bytes of [
      Buffer.alloc(1_000, 0xff),
      Buffer.from('no message at all'),
      Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]), // a string of 4 GiB
      Buffer.from([0x08, 1]), // the job as a number
      request.subarray(0, -1),
    ])
      expect(await client.call(name, bytes)).toMatchObject({ status: status.INVALID_ARGUMENT });
  }
  const twisted = await client.call('SetState', Buffer.concat([request, status32]));
  expect(twisted).toMatchObject({ status: status.INVALID_ARGUMENT });
  const huge = await client.call('SetState', Buffer.alloc(3_000_000));
  expect(huge).toMatchObject({ status: status.RESOURCE_EXHAUSTED });
});
