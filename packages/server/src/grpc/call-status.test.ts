import { SynclineError, silentLogger } from '@syncline/kernel';
import { GRPC_STATUS } from '@syncline/protocol';
import { expect, test } from 'vitest';
import { statusFrom } from './call-status.js';

const codeOf = (thrown: unknown) => statusFrom(thrown, silentLogger, {}).code;

test('our errors are converted by the error table, and gRPC statuses are passed on', () => {
  expect(codeOf(new SynclineError('not-found', 'no such job'))).toBe(GRPC_STATUS.NOT_FOUND);
  const status = { code: GRPC_STATUS.OUT_OF_RANGE, details: 'far' };
  expect(statusFrom(status, silentLogger, {})).toBe(status);
});

test('an AbortError ends the call as aborted, although its `code` is a number', () => {
  const { reason } = AbortSignal.abort();
  expect(reason.code).toBe(20);
  expect(codeOf(reason)).toBe(codeOf(new SynclineError('aborted', 'given up')));
});

test('anything else is a bug, even if it has a numeric code', () => {
  const other = new DOMException('not now', 'InvalidStateError');
  expect(other.code).toBe(GRPC_STATUS.OUT_OF_RANGE);
  for (const thrown of [other, { code: 0 }, { code: 17 }, { code: '5' }, new TypeError(), null]) {
    expect(codeOf(thrown)).toBe(GRPC_STATUS.INTERNAL);
  }
});
