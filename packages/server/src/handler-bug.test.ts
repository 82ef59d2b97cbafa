import { AssertionError } from '@syncline/kernel';
import { expect, test, vi } from 'vitest';
import { reportBug } from './handler-bug.js';
import { type LogLine, recordingLogger } from './testing/test-server.js';

test('an unexpected error is logged in full, and the client gets no details', () => {
  const log: LogLine[] = [];
  const thrown = new TypeError('secret insides');
  const error = reportBug(recordingLogger(log), thrown, { route: '/x' });
  expect(error).toMatchObject({ code: 'unavailable', outcome: 'unknown', retryable: false });
  expect(error.message).not.toContain('secret');
  expect(log).toEqual([
    { level: 'error', msg: 'handler failed', fields: { route: '/x', error: thrown } },
  ]);
});

test('a failed assertion is rethrown where nothing catches it, so that the process exits', () => {
  const outside: (() => void)[] = [];
  const spy = vi.spyOn(globalThis, 'queueMicrotask').mockImplementation((run) => outside.push(run));
  const thrown = new AssertionError('K1');
  reportBug(recordingLogger([]), thrown, {});
  reportBug(recordingLogger([]), new Error('no assert'), {});
  spy.mockRestore();
  expect(outside).toHaveLength(1);
  expect(outside[0]).toThrow(thrown);
});
