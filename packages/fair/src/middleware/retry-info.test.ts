import { BinaryReader } from '@bufbuild/protobuf/wire';
import { expect, test } from 'vitest';
import { encodeRetryStatus } from './grpc-rejection.js';

/** Field numbers with their values, as any protobuf library would read them. */
function fieldsOf(bytes: Uint8Array): Map<number, number | Uint8Array> {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, number | Uint8Array>();
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    fields.set(field, wireType === 0 ? reader.int32() : reader.bytes());
  }
  return fields;
}

function bytesAt(fields: Map<number, number | Uint8Array>, field: number): Uint8Array {
  const value = fields.get(field);
  if (!(value instanceof Uint8Array)) throw new Error(`field ${field} is ${String(value)}`);
  return value;
}

const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

test.each([
  [1_000, 1, undefined],
  [30_000, 30, undefined],
  [1_500, 1, 500_000_000],
  [300_000, 300, undefined],
])('%d ms are reported as RetryInfo inside Any inside Status', (retryAfterMs, seconds, nanos) => {
  const message = 'wait — please '.repeat(20); // longer than one byte of length
  const status = fieldsOf(encodeRetryStatus({ code: 8, message, retryAfterMs }));
  expect(status.get(1)).toBe(8);
  expect(textOf(bytesAt(status, 2))).toBe(message);
  const any = fieldsOf(bytesAt(status, 3));
  expect(textOf(bytesAt(any, 1))).toBe('type.googleapis.com/google.rpc.RetryInfo');
  const delay = fieldsOf(bytesAt(fieldsOf(bytesAt(any, 2)), 1));
  expect(delay.get(1)).toBe(seconds);
  expect(delay.get(2)).toBe(nanos);
});
