// The codec of the calls and Protobuf-ES, made from the contract, understand each other.
import { type DescMessage, fromBinary, toBinary } from '@bufbuild/protobuf';
import { SynclineError } from '@syncline/kernel';
import { JobService } from '@syncline/protocol/jobs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeState } from '../engine/stored-change.js';
import type { JsonObject } from '../state.js';
import { statusClass } from '../status.js';
import {
  type Call,
  createJob,
  deleteJob,
  getJob,
  getProgress,
  getState,
  heartbeat,
  listJobs,
  listStates,
  markJobDeleted,
  setState,
  subscribe,
  updateJob,
} from './calls.js';
import { decode, encode, type Message } from './proto-message.js';
import type { StoredState } from './state-message.js';

const jobId = 'nightly-42';

const count = fc.oneof(fc.nat(300), fc.maxSafeNat());
const uint32 = fc.oneof(fc.nat(300), fc.nat(0xffff_ffff));
const word = fc.string({ unit: 'grapheme', maxLength: 60 });
const maybe = <Value>(arbitrary: fc.Arbitrary<Value>) =>
  fc.option(arbitrary, { nil: undefined, freq: 2 });
/** Protobuf-ES keeps maps in plain objects, which cannot hold this name. */
const labelName = word.filter((name) => name !== '__proto__');
const label = fc.record({ name: labelName, value: word });
const labels = fc
  .dictionary(labelName, word, { maxKeys: 4 })
  .map((entries) => Object.fromEntries(Object.entries(entries)));
const int32 = fc.oneof(
  fc.constantFrom(0, 1, -1, -2, -2_147_483_648, 2_147_483_647),
  fc.integer({ min: -2_147_483_648, max: 2_147_483_647 }),
);
const payload: fc.Arbitrary<JsonObject> = fc
  .dictionary(word, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 })
  .map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);

const state: fc.Arbitrary<StoredState> = fc
  .record({
    taskId: uint32,
    tag: word,
    status: int32,
    message: fc.oneof(word, fc.string({ minLength: 100, maxLength: 300, unit: 'grapheme' })),
    timestampMs: count,
    version: count,
    revision: count,
    eventId: word,
    schemaVersion: uint32,
    payload: maybe(payload),
    progress: maybe(fc.constantFrom(0, 0.25, 1)),
  })
  .map(({ payload: given, progress: done, ...fields }) => ({
    jobId,
    ...fields,
    statusClass: statusClass(fields.status),
    ...(given === undefined ? {} : { payloadJson: JSON.stringify(given) }),
    ...(done === undefined ? {} : { progress: done }),
  }));

const lease = fc.record({
  taskId: uint32,
  epoch: uint32,
  state: fc.constantFrom('held', 'released', 'lost'),
  ttlMs: uint32,
  expiresAtMs: count,
  holder: word,
  revision: count,
});

const job = fc
  .record({
    jobId: word,
    incarnation: word,
    numTasks: uint32,
    expectedTags: fc.array(word, { maxLength: 4 }),
    labels,
    createdAtMs: count,
    deletedAtMs: maybe(count),
    revision: count,
    changedAtMs: count,
  })
  .map(({ deletedAtMs, ...fields }) => ({
    ...fields,
    ...(deletedAtMs === undefined ? {} : { deletedAtMs }),
  }));

const counts = fc
  .record({
    notStarted: fc.nat(1000),
    running: fc.nat(1000),
    finished: fc.nat(1000),
    warned: fc.nat(1000),
    failed: fc.nat(1000),
  })
  .map((cells) => ({
    ...cells,
    total: cells.notStarted + cells.running + cells.finished + cells.warned + cells.failed,
  }));

const percent = fc.integer({ min: 0, max: 1_000 }).map((tenths) => tenths / 10);

/** States that stay encoded. */
const stateBytes = state.map((each) => Buffer.from(encodeState(each)));

const tagProgress = fc
  .record({ tag: word, cells: counts, lowest: state, worst: state })
  .map((fields) => ({ ...fields, percent: (fields.cells.finished % 1_000) / 10 }));

const progress = fc
  .record({
    revision: count,
    cells: counts,
    lostTasks: uint32,
    lowest: state,
    worst: state,
    tags: fc.array(tagProgress, { maxLength: 3 }),
  })
  .map((fields) => ({ ...fields, percent: (fields.cells.finished % 1_000) / 10 }));

const scope = maybe(
  fc.record({ taskId: maybe(uint32), tag: maybe(word) }).map(({ taskId, tag }) => ({
    ...(taskId === undefined ? {} : { taskId }),
    ...(tag === undefined ? {} : { tag }),
  })),
);

const named = fc.record({ jobId: word });
const namedByTask = { jobId: word, taskId: maybe(uint32), incarnation: word };
const global = {
  request: fc.record(namedByTask),
  response: fc.record({ applied: fc.boolean(), revision: count }),
};
const scoped = { jobId: word, scope };

/** By call, as the contract names them in camelCase. */
const samples = {
  createJob: {
    request: fc.record({
      jobId: word,
      numTasks: uint32,
      expectedTags: fc.array(word, { maxLength: 4 }),
      labels: fc.array(label, { maxLength: 1 }),
    }),
    response: fc.record({ job, created: fc.boolean() }),
  },
  getJob: { request: named, response: fc.record({ job }) },
  listJobs: {
    request: fc.record({
      prefix: word,
      worst: maybe(fc.constantFrom('not-started', 'running', 'finished', 'warned', 'failed')),
      afterJobId: word,
      limit: uint32,
    }),
    response: fc.record({
      jobs: fc.array(fc.record({ job, cells: counts, percent, lostTasks: uint32 }), {
        maxLength: 3,
      }),
      next: word,
      damaged: fc.array(word, { maxLength: 3 }),
    }),
  },
  updateJob: {
    request: fc.record({
      jobId: word,
      taskId: maybe(uint32),
      setLabels: fc.boolean(),
      labels: fc.array(label, { maxLength: 1 }),
      setExpectedTags: fc.boolean(),
      expectedTags: fc.array(word, { maxLength: 4 }),
      incarnation: word,
    }),
    response: fc.record({ applied: fc.boolean(), job }),
  },
  markJobDeleted: {
    ...global,
    response: fc.record({ applied: fc.boolean(), revision: count, job }),
  },
  deleteJob: {
    ...global,
    request: fc.record({ ...namedByTask, ifRevision: maybe(count) }),
  },
  heartbeat: {
    request: fc.record({
      jobId: word,
      incarnation: word,
      taskId: uint32,
      action: fc.constantFrom('claim', 'renew', 'release'),
      epoch: uint32,
      ttlMs: uint32,
      holder: word,
    }),
    response: fc.record({ lease }),
  },
  setState: {
    request: fc.record({
      jobId: word,
      incarnation: word,
      taskId: uint32,
      epoch: uint32,
      tag: word,
      status: int32,
      message: word,
      payloadJson: maybe(word),
      schemaVersion: uint32,
      eventId: word,
      ifVersion: maybe(count),
      durability: maybe(fc.constantFrom('buffered', 'synced')),
      progress: maybe(fc.constantFrom(0, 0.25, 1)),
    }),
    response: fc.record({ applied: fc.boolean(), duplicate: fc.boolean(), state: stateBytes }),
  },
  getState: {
    request: fc.record(scoped),
    response: fc.record({ state: stateBytes, exists: fc.boolean(), revision: count }),
  },
  listStates: {
    request: fc.record({ ...scoped, afterRevision: count, limit: uint32 }),
    response: fc.record({
      states: fc.array(stateBytes, { maxLength: 5 }),
      revision: count,
      incarnation: word,
      more: fc.boolean(),
    }),
  },
  getProgress: {
    request: fc.record(scoped),
    response: fc.record({ job, progress, lost: fc.array(lease, { maxLength: 3 }) }),
  },
  subscribe: {
    request: fc.record({
      ...scoped,
      after: word,
      includeLeases: fc.boolean(),
      includeJob: fc.boolean(),
      overflow: maybe(fc.constantFrom('block', 'coalesce', 'fail')),
      bufferEvents: uint32,
      bufferBytes: uint32,
    }),
    response: fc.constant(undefined),
  },
} as const;

const calls = {
  createJob,
  deleteJob,
  getJob,
  getProgress,
  getState,
  heartbeat,
  listJobs,
  listStates,
  markJobDeleted,
  setState,
  subscribe,
  updateJob,
} as const;
const names = Object.keys(samples) as (keyof typeof samples)[];

/** Through the generated code: it knows every field, or the value would not come back. */
function throughProtobuf(schema: DescMessage, bytes: Uint8Array): Uint8Array {
  return toBinary(schema, fromBinary(schema, bytes, { readUnknownFields: false }));
}

function comesBack<Value>(
  form: Message<Value>,
  schema: DescMessage,
  arbitrary: fc.Arbitrary<Value>,
) {
  fc.assert(
    fc.property(arbitrary, (value) => {
      const bytes = encode(form, value);
      const name = schema.name;
      expect(decode(form, bytes, { name, jobId })).toEqual(value);
      expect(decode(form, throughProtobuf(schema, bytes), { name, jobId })).toEqual(value);
    }),
    { numRuns: 50 },
  );
}

describe.each(names)('%s', (name) => {
  const method = JobService.method[name];
  const call = calls[name] as unknown as Call<unknown, unknown>;
  const sample = samples[name] as Readonly<Record<'request' | 'response', fc.Arbitrary<unknown>>>;

  test('a request means the same to Protobuf-ES', () => {
    expect(call.name).toBe(method.name);
    comesBack(call.request, method.input, sample.request);
  });

  test('an answer means the same to Protobuf-ES', () => {
    if (call.response !== undefined) comesBack(call.response, method.output, sample.response);
  });

  test('J20 bytes that are no request are refused, and nothing else happens', () => {
    fc.assert(
      fc.property(
        sample.request,
        fc.uint8Array({ maxLength: 40 }),
        fc.nat(200),
        (value, junk, at) => {
          const bytes = encode(call.request, value);
          const spoilt = Uint8Array.from(bytes);
          spoilt.set(
            junk.subarray(0, Math.max(0, spoilt.length - at)),
            Math.min(at, spoilt.length),
          );
          for (const hostile of [junk, spoilt, bytes.subarray(0, at)]) {
            try {
              decode(call.request, hostile, { name });
            } catch (thrown) {
              expect(thrown).toBeInstanceOf(SynclineError);
              expect(thrown).toMatchObject({ code: 'invalid-argument' });
            }
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});

test('the service has no call beyond these', () => {
  const all = [...names, 'setStates']; // which has a file of its own
  expect(all.sort()).toEqual(Object.keys(JobService.method).sort());
});
