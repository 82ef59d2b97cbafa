// Compares our codec with grpc-health-check, which is generated from the contract.
import type { MethodDefinition } from '@grpc/grpc-js';
import { SynclineError } from '@syncline/kernel';
import { service as reference } from 'grpc-health-check';
import { expect, test } from 'vitest';
import {
  encodeHealthListResponse,
  encodeHealthResponse,
  healthDefinition,
  parseHealthRequest,
} from './health-messages.js';

const methodOf = (name: string) => reference[name] as MethodDefinition<object, object>;
const check = methodOf('Check');
const list = methodOf('List');

test('requests are decoded as by the reference implementation, including unknown fields', () => {
  for (const service of ['', 'toy.v1.EchoService', 'ü'.repeat(300)])
    expect(parseHealthRequest(check.requestSerialize({ service }))).toEqual({ service });
  const unknown = '10ac02 1901020304050607081a03616263 2501020304'.replaceAll(' ', '');
  const bytes = Buffer.from(`${unknown}0a0178${unknown}`, 'hex');
  expect(parseHealthRequest(bytes)).toEqual(check.requestDeserialize(bytes));
  expect(parseHealthRequest(bytes)).toEqual({ service: 'x' });
});

test.each([
  ['a field longer than its message', '0a05616263'],
  ['a tag without a field', '10'],
  ['a fixed number cut off', '190102'],
  ['a varint without an end', `10${'ff'.repeat(11)}`],
  ['a wire type that does not exist', '0e'],
])('%s is refused', (_, hex) => {
  expect(() => parseHealthRequest(Buffer.from(hex, 'hex'))).toThrow(SynclineError);
});

test('the reference implementation can decode our responses', () => {
  for (const status of ['SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const)
    expect(check.responseDeserialize(encodeHealthResponse({ status }))).toEqual({
      status,
    });
  const statuses = {
    '': { status: 'SERVING' },
    ['a'.repeat(200)]: { status: 'NOT_SERVING' },
  } as const;
  expect(list.responseDeserialize(encodeHealthListResponse({ statuses }))).toEqual({
    statuses,
  });
});

test('the methods are those of the contract', () => {
  const factsOf = (definition: object) =>
    Object.values(definition as typeof healthDefinition)
      .map(({ path, requestStream, responseStream }) => ({ path, requestStream, responseStream }))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
  expect(factsOf(healthDefinition)).toEqual(factsOf(reference));
});
