import { SynclineError } from '@syncline/kernel';
import { exitCodeOf } from '@syncline/protocol';
import { loadConfig } from '@syncline/server/config';
import { expect, test } from 'vitest';
import { explainStartFailure } from './start-failure.js';

const { config } = loadConfig({ environment: {} });

test('for a port in use the error names the flag to change, and is a conflict', () => {
  const taken = new SynclineError('unavailable', 'cannot listen on 127.0.0.1:7401 (in use).', {
    details: { reason: 'address-in-use', address: { host: '127.0.0.1', port: 7401 } },
  });
  const explained = explainStartFailure(taken, config) as SynclineError;
  expect(explained.message).toBe(
    'cannot listen on 127.0.0.1:7401 (in use). To use any free port: --grpc-port 0.',
  );
  expect(exitCodeOf(explained)).toBe(5);
});

test('an address that this machine does not have is a usage error, not an unreachable server', () => {
  const foreign = new SynclineError('unavailable', 'cannot listen on 10.9.9.9:7400', {
    details: { reason: 'not-local', address: { host: '10.9.9.9', port: 7400 } },
  });
  expect(exitCodeOf(explainStartFailure(foreign, config) as SynclineError)).toBe(2);
});

test('anything else passes unchanged', () => {
  const locked = new SynclineError('locked', 'held by process 7');
  expect(explainStartFailure(locked, config)).toBe(locked);
  const bug = new TypeError('boom');
  expect(explainStartFailure(bug, config)).toBe(bug);
});
