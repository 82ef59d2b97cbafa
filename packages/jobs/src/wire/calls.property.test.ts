// The codec of the calls and Protobuf-ES, made from the contract, understand each other.
import { type DescMessage, fromBinary, toBinary } from '@bufbuild/protobuf';
import { SynclineError } from '@syncline/kernel';
import { JobService } from '@syncline/protocol/jobs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jobId, samples } from '../testing/wire-samples.js';
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
  expect(names.sort()).toEqual(Object.keys(JobService.method).sort());
});
