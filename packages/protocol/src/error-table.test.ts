import { ERROR_CODES, SynclineError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { ERROR_TABLE, exitCodeOf } from './error-table.js';
import { errorFromGrpc } from './grpc-error.js';
import { GRPC_STATUS } from './grpc-status.js';
import { errorFromProblem } from './http-problem.js';
import { respErrorOf } from './resp-error.js';

test('the table has each code of the kernel and no other', () => {
  expect(Object.keys(ERROR_TABLE)).toEqual(Object.keys(ERROR_CODES));
});

test('statuses are failures everywhere', () => {
  for (const row of Object.values(ERROR_TABLE)) {
    expect(row.http).toBeGreaterThanOrEqual(400);
    expect(row.exit).toBeGreaterThan(0);
    expect(row.exit).not.toBe(6); // only an unknown outcome exits so
  }
});

test('an unknown outcome exits with 6, whatever the code', () => {
  expect(exitCodeOf(new SynclineError('timeout', 'no answer'))).toBe(3);
  expect(exitCodeOf(new SynclineError('timeout', 'no answer', { outcome: 'unknown' }))).toBe(6);
});

test('a full disk is MISCONF to Redis clients, on one line', () => {
  expect(respErrorOf(new SynclineError('storage-full', 'no room\r\n+OK'))).toBe(
    'MISCONF no room +OK',
  );
});

test('a Redis client learns no path of the server', () => {
  const message = 'cannot append to /var/lib/syncline/sets/log-1: no space left on the device.';
  expect(respErrorOf(new SynclineError('storage-full', message))).toBe(
    'MISCONF cannot append to (path): no space left on the device.',
  );
});

test('a proxy that answers for the server gives an error by its status', () => {
  const gateway = errorFromProblem(502, '<html>bad gateway</html>');
  expect(gateway).toMatchObject({ code: 'unavailable', outcome: 'unknown', retryable: true });
  expect(gateway.message).toBe('the server responded with HTTP 502');

  const reset = { code: GRPC_STATUS.UNAVAILABLE, details: 'connection dropped', metadata: {} };
  expect(errorFromGrpc(reset)).toMatchObject({ code: 'unavailable', outcome: 'unknown' });
});

test('a code of a newer server falls back to its status and keeps the rest', () => {
  const body = { code: 'shiny-new', detail: 'no', retryable: true, outcome: 'unknown' };
  expect(errorFromProblem(409, body)).toMatchObject({
    code: 'conflict',
    message: 'no',
    retryable: true,
    outcome: 'unknown',
  });
});
