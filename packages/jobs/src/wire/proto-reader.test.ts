// Bytes that no sender of the contract would produce: they are refused, and never become values that were not sent.
import { SynclineError } from '@syncline/kernel';
import { decode } from '@syncline/kernel/wire';
import { expect, test } from 'vitest';
import { jobCalls } from './calls.js';

const JOB_ID = [0x0a, 1, 0x6a]; // field 1, one letter
const EVENT_ID = [0x52, 1, 0x65]; // field 10, one letter
const STATUS = 6 << 3;

function read(...bytes: readonly number[]) {
  const all = Uint8Array.from([...JOB_ID, ...bytes, ...EVENT_ID]);
  return decode(jobCalls.setState.request, all, { name: 'SetStateRequest' });
}

function refusal(...bytes: readonly number[]) {
  try {
    return read(...bytes);
  } catch (thrown) {
    if (!(thrown instanceof SynclineError)) throw thrown;
    return { code: thrown.code, ...thrown.details };
  }
}

test('J20 the largest and the smallest status are read, one beyond is refused by its name', () => {
  expect(read(STATUS, 0xfe, 0xff, 0xff, 0xff, 0x0f).status).toBe(2_147_483_647);
  expect(read(STATUS, 0xff, 0xff, 0xff, 0xff, 0x0f).status).toBe(-2_147_483_648);
  const beyond = refusal(STATUS, 0x80, 0x80, 0x80, 0x80, 0x10);
  expect(beyond).toMatchObject({ code: 'invalid-argument', field: 'status' });
});

test.each([
  ['a status as four bytes', [STATUS | 5, 2, 0x1a, 1, 0x74]], // as a number: status 1, and a task
  ['a status as eight bytes', [STATUS | 1, 2, 0, 0, 0, 0, 0, 0, 0]],
  ['a status as text', [STATUS | 2, 1, 0x31]],
  ['a task as text', [(3 << 3) | 2, 1, 0x31]],
  ['a tag as a number', [5 << 3, 0]],
  ['an enum as text', [(12 << 3) | 2, 0]],
] as const)('J20 %s is refused: its bytes are not read as something else', (_, bytes) => {
  expect(refusal(...bytes)).toMatchObject({ code: 'invalid-argument', field: 'SetStateRequest' });
});

test('fields that the contract does not know are skipped, whatever their type', () => {
  const unknown = 20 << 3;
  const tagOf = (wireType: number) => [((unknown | wireType) & 0x7f) | 0x80, 1];
  const { jobId, eventId } = read(
    ...[...tagOf(0), 0x96, 1],
    ...[...tagOf(1), 1, 2, 3, 4, 5, 6, 7, 8],
    ...[...tagOf(2), 2, 1, 2],
    ...[...tagOf(5), 1, 2, 3, 4],
  );
  expect({ jobId, eventId }).toEqual({ jobId: 'j', eventId: 'e' });
});
