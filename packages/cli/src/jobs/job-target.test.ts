import { SynclineError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { forPeople, unknownTagText } from './job-target.js';

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

test('the tags that are there are named, so that a typo is seen', () => {
  const start = '🟡 No task has written tag "ingst", and it is not expected.';
  expect(unknownTagText('ingst', ['ingest', 'report'])).toBe(`${start} There are: ingest, report.`);
  expect(unknownTagText('ingst', [])).toBe(`${start} The job has no tags yet.`);
  const many = Array.from({ length: 25 }, (_, at) => `t${at}`);
  expect(unknownTagText('ingst', many)).toMatch(/ t19 and 5 more\.$/);
});

test('no name steers the terminal', () => {
  expect(unknownTagText('a\u001b[2J', ['b\u001b[2J'])).not.toContain('\u001b');
});
