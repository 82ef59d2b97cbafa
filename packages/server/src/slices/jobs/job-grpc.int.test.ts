// JobService as any client of the contract sees it: messages of Protobuf-ES, bad ones and bytes that are none.
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf';
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { createMemoryJobStore, type JobStore, jobsLimits } from '@syncline/jobs';
import { abortedError } from '@syncline/kernel';
import { JobService } from '@syncline/protocol/jobs';
import { type FaultProxy, startFaultProxy } from '@syncline/testkit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  JobWriter,
  type RemoteJobs,
  replaceableCalls,
  startRemoteJobs,
} from '../../testing/remote-jobs.js';

const jobId = 'nightly';
const methods = JobService.method;
let behind: JobStore;
let calls: ReturnType<typeof replaceableCalls>;
let remote: RemoteJobs<FaultProxy>;
let client: Client;
let incarnation: string;

beforeAll(async () => {
  behind = createMemoryJobStore();
  calls = replaceableCalls(behind);
  remote = await startRemoteJobs(behind, startFaultProxy);
  client = new Client(`127.0.0.1:${remote.server.port('grpc')}`, credentials.createInsecure());
  const writer = await JobWriter.create(behind, jobId, 3);
  await writer.set(1, 'ingest', { status: 7, payload: { rows: 12 } });
  incarnation = (await behind.getJob(jobId))?.incarnation ?? '';
});

afterAll(async () => {
  client.close();
  await remote[Symbol.asyncDispose]();
});

type Name = Exclude<keyof typeof methods, 'subscribe' | 'setStates'>;

function send(name: Name | 'subscribe', bytes: Uint8Array): Promise<Uint8Array> {
  const path = `/${JobService.typeName}/${methods[name].name}`;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      (message: Uint8Array) => Buffer.from(message),
      (answer) => answer,
      bytes,
      (error, answer) => {
        if (answer === undefined) reject(error ?? new Error('neither error nor answer'));
        else resolve(answer);
      },
    );
  });
}

async function ask<N extends Name>(
  name: N,
  fields: MessageInitShape<(typeof methods)[N]['input']>,
) {
  const { input, output } = methods[name];
  const bytes = toBinary(
    input as DescMessage,
    create(input as DescMessage, fields as Record<string, unknown>),
  );
  return fromBinary(output as (typeof methods)[N]['output'], await send(name, bytes));
}

/** Status, code and details of a call that must fail. */
async function failure(call: Promise<unknown>) {
  const error = await call.then(
    () => expect.unreachable(),
    (thrown: ServiceError) => thrown,
  );
  const text = error.metadata.get('syncline-details')[0]?.toString() ?? '{}';
  return {
    status: error.code,
    code: error.metadata.get('syncline-code')[0],
    details: JSON.parse(text) as unknown,
  };
}

describe('reads', () => {
  test('GetState answers every scope, and says whether the cell was written', async () => {
    const one = await ask('getState', { jobId, scope: { taskId: 1, tag: 'ingest' } });
    expect(one).toMatchObject({ exists: true, state: { status: 7, version: 1n } });
    expect(Buffer.from(one.state?.payloadJson ?? []).toString()).toBe('{"rows":12}');
    const other = await ask('getState', { jobId, scope: { taskId: 2, tag: 'ingest' } });
    expect(other).toMatchObject({ exists: false, revision: 5n, state: { taskId: 2, status: 0 } });
    expect(await ask('getState', { jobId })).toMatchObject({ exists: false, state: { taskId: 0 } });
  });

  test('GetProgress returns the job, its progress and the lost tasks', async () => {
    const { job, progress, lost } = await ask('getProgress', { jobId });
    expect(job).toMatchObject({ jobId, numTasks: 3 });
    expect(progress).toMatchObject({
      cells: { notStarted: 2, running: 1 },
      tags: [{ tag: 'ingest' }],
    });
    expect(lost).toEqual([]);
  });

  test('a limit of 0 is a whole page', async () => {
    expect((await ask('listStates', { jobId })).states).toHaveLength(1);
    expect((await ask('listJobs', {})).jobs).toHaveLength(1);
  });
});

test('a read whose client has gone is given up', async () => {
  const asked = vi.spyOn(calls, 'listEncoded');
  const givenUp = new Promise<void>((resolve) => {
    asked.mockImplementation((_jobId, _scope, _page, signal) => {
      sent.cancel();
      return new Promise((_, reject) => {
        signal?.addEventListener('abort', () => {
          resolve();
          reject(abortedError('a read', signal));
        });
      });
    });
  });
  const { input } = methods.listStates;
  const sent = client.makeUnaryRequest(
    `/${JobService.typeName}/ListStates`,
    (message: Uint8Array) => Buffer.from(message),
    (answer) => answer,
    toBinary(input, create(input, { jobId })),
    () => undefined,
  );
  await givenUp;
  asked.mockRestore();
});

describe('J14 global writes', () => {
  test.each([1, 2])('of task %i change nothing, and say so', async (taskId) => {
    const before = await behind.getJob(jobId);
    const labels = { a: 'b' };
    const update = await ask('updateJob', { jobId, taskId, setLabels: true, labels });
    expect(update.applied).toBe(false);
    expect((await ask('markJobDeleted', { jobId, taskId })).applied).toBe(false);
    expect((await ask('deleteJob', { jobId, taskId })).applied).toBe(false);
    expect(await behind.getJob(jobId)).toEqual(before);
  });

  test.each([undefined, 0])('of task %s apply', async (taskId) => {
    const who = taskId === undefined ? {} : { taskId };
    const other = `other-${String(taskId)}`;
    await ask('createJob', { jobId: other, numTasks: 1 });
    const labels = { a: 'b' };
    const update = await ask('updateJob', { jobId: other, ...who, setLabels: true, labels });
    expect(update).toMatchObject({ applied: true, job: { labels, revision: 2n } });
    const mark = await ask('markJobDeleted', { jobId: other, ...who });
    expect(mark).toMatchObject({ applied: true, revision: 3n });
    const removal = await ask('deleteJob', { jobId: other, ...who });
    expect(removal).toMatchObject({ applied: true, revision: 3n });
    expect(await failure(ask('getJob', { jobId: other }))).toMatchObject({
      status: status.NOT_FOUND,
      code: 'not-found',
    });
  });
});

describe('J20 bad input', () => {
  const claim = () => ({ jobId, incarnation, taskId: 0, action: 1, epoch: 0, ttlMs: 0 });
  /** A number that a newer contract may have. */
  const unknown = (number: number) => number as 1;
  const bad: readonly [string, string, () => Promise<unknown>][] = [
    ['an action that is missing', 'action', () => ask('heartbeat', { ...claim(), action: 0 })],
    ['an action not known', 'action', () => ask('heartbeat', { ...claim(), action: unknown(9) })],
    ['a class not known', 'worst', () => ask('listJobs', { worst: unknown(6) })],
    [
      'a durability not known',
      'durability',
      () => ask('setState', { jobId, durability: unknown(3) }),
    ],
    ['a task that the job lacks', 'taskId', () => ask('deleteJob', { jobId, taskId: 3 })],
    [
      'a scope that the job lacks',
      'taskId',
      () => ask('getState', { jobId, scope: { taskId: 3 } }),
    ],
    ['a tag without a letter', 'tag', () => ask('getProgress', { jobId, scope: { tag: '' } })],
    ['a job without a name', 'jobId', () => ask('createJob', { numTasks: 1 })],
    ['a job of no tasks', 'numTasks', () => ask('createJob', { jobId: 'empty' })],
    ['a version beyond 2^53', 'SetStateRequest', () => ask('setState', { ifVersion: 2n ** 53n })],
  ];

  test.each(bad)('%s', async (_, field, call) => {
    expect(await failure(call())).toMatchObject({
      status: status.INVALID_ARGUMENT,
      code: 'invalid-argument',
      details: { field },
    });
  });

  test.each(['[1]', 'null', '{', '"text"'])('a payload %s', async (json) => {
    const payloadJson = Buffer.from(json);
    const call = ask('setState', { jobId, incarnation, tag: 'a', eventId: 'e', payloadJson });
    expect(await failure(call)).toMatchObject({
      code: 'invalid-argument',
      details: { field: 'payload', issues: [{}] },
    });
  });

  test('a request of 128 KiB is read, one of a byte more is refused', async () => {
    const { value: bytesMax } = jobsLimits.requestBytesMax;
    const empty = toBinary(
      methods.getJob.input,
      create(methods.getJob.input, { jobId: 'x'.repeat(70_000) }),
    );
    const prefix = (length: number) => ({ jobId: 'x'.repeat(length) });
    const head = empty.length - 70_000;
    expect(await failure(ask('getJob', prefix(bytesMax - head)))).toMatchObject({
      details: { field: 'jobId' },
    });
    expect(await failure(ask('getJob', prefix(bytesMax - head + 1)))).toMatchObject({
      status: status.RESOURCE_EXHAUSTED,
      code: 'limit-exceeded',
      details: { limit: 'requestBytesMax' },
    });
  });

  test('bytes that are not a request get an answer, and the service continues', async () => {
    // A stream of writes takes any number of requests, and has tests of its own.
    const names = Object.keys(methods).filter((name) => name !== 'setStates') as Name[];
    const before = await behind.getJob(jobId);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...names),
        fc.uint8Array({ minLength: 1, maxLength: 60 }),
        async (name, bytes) => {
          const error = await send(name, bytes).then(
            () => undefined,
            (thrown: ServiceError) => thrown,
          );
          expect([undefined, status.INVALID_ARGUMENT, status.NOT_FOUND]).toContain(error?.code);
        },
      ),
      { numRuns: 300 },
    );
    expect(await behind.getJob(jobId)).toEqual(before);
  });
});
