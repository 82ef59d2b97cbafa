import { SynclineError } from '@syncline/kernel';
import { GRPC_STATUS, grpcFailureOf } from '@syncline/protocol';
import { expect, test } from 'vitest';
import { errorOfStatus, readError } from './status-error.js';

const target = { address: '127.0.0.1:7401', tls: undefined, token: undefined };

function statusOf(code: number, details: string, metadata: Record<string, string> = {}) {
  return { code, details, metadata: { getMap: () => metadata } };
}

test('an error of the server comes back as it was', () => {
  const sent = new SynclineError('conflict', 'the job is marked deleted', {
    details: { reason: 'marked-deleted' },
  });
  const { code, details, metadata } = grpcFailureOf(sent);
  const error = errorOfStatus(statusOf(code, details, { ...metadata }), target);
  expect(error).toMatchObject({ code: 'conflict', message: sent.message, details: sent.details });
});

test.each([
  [
    GRPC_STATUS.UNAVAILABLE,
    'No connection established. Last error: …',
    'unavailable',
    'not-applied',
  ],
  [GRPC_STATUS.UNAVAILABLE, 'Connection dropped', 'unavailable', 'unknown'],
  [
    GRPC_STATUS.DEADLINE_EXCEEDED,
    'Deadline exceeded, Waiting for LB pick',
    'timeout',
    'not-applied',
  ],
  [GRPC_STATUS.DEADLINE_EXCEEDED, 'Deadline exceeded', 'timeout', 'unknown'],
] as const)('status %i «%s» is %s, %s, and names the address', (status, details, code, outcome) => {
  const error = errorOfStatus(statusOf(status, details), target);
  expect(error).toMatchObject({ code, outcome, details: { address: target.address } });
  expect(error.message).toContain(target.address);
});

test('nothing is unknown about a read', () => {
  const error = errorOfStatus(statusOf(GRPC_STATUS.UNAVAILABLE, 'Connection dropped'), target);
  expect(readError(error)).toMatchObject({ code: 'unavailable', outcome: 'not-applied' });
});
