// Writes and answers of a stream, and Protobuf-ES, made from the contract, understand each other.
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { SynclineError } from '@syncline/kernel';
import { JobService } from '@syncline/protocol/jobs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeState } from '../engine/stored-change.js';
import { setState } from './calls.js';
import { decode, encode } from './proto-message.js';
import {
  decodeAnswers,
  decodeWrites,
  ENVELOPE_BYTES,
  encodeAnswers,
  encodeWrites,
  type NumberedAnswer,
} from './write-messages.js';

const { input, output } = JobService.method.setStates;

const number = fc.oneof(fc.nat(300), fc.maxSafeNat());
const text = fc.string({ unit: 'grapheme', maxLength: 60 });
const body = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const metadata = fc.dictionary(
  text.filter((name) => name !== '__proto__'),
  text,
  { maxKeys: 3 },
);

const failure = fc.record({
  code: fc.nat(16),
  details: text,
  metadata: metadata.map((entries) => Object.fromEntries(Object.entries(entries))),
});

const answer: fc.Arbitrary<NumberedAnswer['answer']> = fc.oneof(
  fc.record({ kind: fc.constant('done' as const), response: body }),
  fc.record({ kind: fc.constant('failed' as const), failure }),
);

test('writes come back, and an envelope takes no more than is said', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ number, write: body })), (writes) => {
      const bytes = encodeWrites(writes);
      expect(decodeWrites(bytes)).toEqual(writes);
      const bodies = writes.reduce((sum, { write }) => sum + write.length, 0);
      expect(bytes.length).toBeLessThanOrEqual(bodies + writes.length * ENVELOPE_BYTES);
    }),
  );
});

test('answers come back', () => {
  fc.assert(
    fc.property(
      fc.record(
        { answers: fc.array(fc.record({ number, answer })), end: failure },
        { requiredKeys: ['answers'] },
      ),
      (message) => {
        expect(decodeAnswers(encodeAnswers(message))).toEqual(message);
      },
    ),
  );
});

test('a write of Protobuf-ES is read', () => {
  const write = { jobId: 'nightly', taskId: 3, tag: 'ingest', status: -7, eventId: 'e1' };
  const request: MessageInitShape<typeof input> = { writes: [{ number: 9n, write }] };
  const [read] = decodeWrites(toBinary(input, create(input, request)));
  expect(read?.number).toBe(9);
  const bytes = read?.write ?? new Uint8Array();
  expect(decode(setState.request, bytes, { name: 'SetState' })).toMatchObject(write);
  expect(encodeWrites([{ number: 9, write: bytes }])).toEqual(
    Buffer.from(toBinary(input, create(input, request))),
  );
});

test('answers of Protobuf-ES are read', () => {
  const refused = { code: 9, message: 'stale', metadata: { 'syncline-code': 'conflict' } };
  const response: MessageInitShape<typeof output> = {
    answers: [
      { number: 1n, answer: { case: 'done', value: { applied: true, state: { tag: 'a' } } } },
      { number: 2n, answer: { case: 'failure', value: refused } },
    ],
    end: refused,
  };
  const message = decodeAnswers(toBinary(output, create(output, response)));
  const [done, failed] = message.answers;
  if (done?.answer.kind !== 'done') throw new Error('not done');
  const read = decode(setState.response, done.answer.response, { name: '', jobId: 'nightly' });
  expect(read.applied).toBe(true);
  expect(decodeState(read.state, 'nightly')).toMatchObject({ jobId: 'nightly', tag: 'a' });
  const { message: details, ...facts } = refused;
  const wanted = { ...facts, details };
  expect(failed).toEqual({ number: 2, answer: { kind: 'failed', failure: wanted } });
  expect(message.end).toEqual(wanted);
  expect(encode(setState.response, read).length).toBe(done.answer.response.length);
});

test('J20 bytes that are no message are refused, and nothing else happens', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (junk) => {
      for (const read of [decodeWrites, decodeAnswers]) {
        try {
          read(junk);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(SynclineError);
          expect(thrown).toMatchObject({ code: 'invalid-argument' });
        }
      }
    }),
    { numRuns: 500 },
  );
  expect(() => decodeAnswers(new Uint8Array([0x0a, 0x02, 0x08, 0x01]))).toThrow('neither done');
});
