import { SynclineError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { errorOfCallStatus, isCallRefused } from './grpc-client-error.js';
import { grpcFailureOf } from './grpc-error.js';
import { GRPC_STATUS } from './grpc-status.js';

const target = { service: 'the job service', address: '127.0.0.1:7401' };

function statusOf(code: number, details: string, metadata: Record<string, string> = {}) {
  return { code, details, metadata: { getMap: () => metadata } };
}

test('an error of the server is reconstructed unchanged', () => {
  const sent = new SynclineError('conflict', 'the job is marked deleted', {
    details: { reason: 'marked-deleted' },
  });
  const { code, details, metadata } = grpcFailureOf(sent);
  const error = errorOfCallStatus(statusOf(code, details, { ...metadata }), target);
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
  const error = errorOfCallStatus(statusOf(status, details), target);
  expect(error).toMatchObject({ code, outcome, details: { address: target.address } });
  expect(error.message).toContain(target.address);
});

test.each([
  [
    'No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:7401. Resolution note: ',
    'connect ECONNREFUSED 127.0.0.1:7401. Check that a server is running there, and the TLS settings on both sides.',
  ],
  [
    'No connection established. Last error: one\n  two. Resolution note: half of the names.',
    'one two. Resolution note: half of the names. Check that a server is running there, and the TLS settings on both sides.',
  ],
  [
    'No connection established. Last error: Protocol error (2026-11-16T08:41:38.059Z). Resolution note: ',
    'Protocol error. Check the port (by default, gRPC is on 7401 and HTTP on 7400) and the TLS settings on both sides.',
  ],
  [
    'No connection established. Last error: Failed to connect (2026-11-16T08:41:38.059Z). Resolution note: ',
    'Failed to connect. Check that a server is running there, and the TLS settings on both sides.',
  ],
  [
    "No connection established. Last error: Error [ERR_TLS_CERT_ALTNAME_INVALID]: Hostname/IP does not match certificate's altnames. Resolution note: ",
    "its certificate is not trusted (Hostname/IP does not match certificate's altnames). Use a host name that is in the certificate, or set tls.serverName to one.",
  ],
])('messages of the library are made readable: %j', (details, plain) => {
  const error = errorOfCallStatus(statusOf(GRPC_STATUS.UNAVAILABLE, details), target);
  expect(error.message).toBe(`cannot reach the job service at ${target.address}: ${plain}`);
  expect(error.outcome).toBe('not-applied');
});

test('a host name that does not resolve: nothing was sent, and TLS has nothing to do with it', () => {
  const unknown = { service: 'the job service', address: 'nosuchhost:7401' };
  const status = (name: string) =>
    statusOf(GRPC_STATUS.UNAVAILABLE, `Name resolution failed for target dns:${name}:7401`);
  expect(errorOfCallStatus(status('nosuchhost'), unknown)).toMatchObject({
    code: 'unavailable',
    outcome: 'not-applied',
    message:
      'cannot reach the job service at nosuchhost:7401: unknown host name "nosuchhost". Check the address.',
  });
  expect(isCallRefused(status('nosuchhost'), unknown.address)).toBe(true);
  // Another host's name comes from someone on the way, who may have passed the call on.
  expect(errorOfCallStatus(status('upstream'), unknown)).toMatchObject({ outcome: 'unknown' });
  expect(isCallRefused(status('upstream'), unknown.address)).toBe(false);
});

test('a certificate that is not trusted is not worth a retry', () => {
  const details =
    'No connection established. Last error: Error: unable to verify the first certificate. Resolution note: ';
  expect(errorOfCallStatus(statusOf(GRPC_STATUS.UNAVAILABLE, details), target)).toMatchObject({
    code: 'unauthenticated',
    retryable: false,
    outcome: 'not-applied',
    details: { reason: 'certificate', address: target.address },
  });
});
