import { SynclineError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { forPeople } from './no-such-job.js';

test.each([
  'there is no job "nightly". GET /api/jobs lists all.',
  'there is no job "nightly": it was never created here, or was deleted',
])('the advice is a command, whatever the server said: %s', (message) => {
  expect(forPeople(new SynclineError('not-found', message), 'nightly')).toMatchObject({
    code: 'not-found',
    message: 'there is no job "nightly". "syncline jobs ls" lists all.',
  });
});

test('what is about something else stays as it came', () => {
  const others = [
    new SynclineError('not-found', 'nothing is at /api/jobs/nightly'),
    new SynclineError('unavailable', 'there is no job service'),
    new Error('there is no job'),
  ];
  for (const other of others) expect(forPeople(other, 'nightly')).toBe(other);
});
