import { SynclineError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { toCliError, unknownTagText } from './job-target.js';

test.each([
  'no such job: "nightly". GET /api/jobs lists all jobs.',
  'no such job: "nightly" was never created here, or was deleted',
])('the advice is a command, whatever the server said: %s', (message) => {
  expect(toCliError(new SynclineError('not-found', message), 'nightly')).toMatchObject({
    code: 'not-found',
    message: 'no such job: "nightly". Run "syncline jobs ls" to list all jobs.',
  });
});

test.each([
  ['1', 'tasks 0 to 1'],
  ['0', 'only task 0'],
])('a task that the job does not have is named by its flag; the last one is %s', (last, tasks) => {
  const message = `taskId is 7; expected an integer from 0 to ${last}`;
  expect(toCliError(new SynclineError('invalid-argument', message), 'nightly')).toMatchObject({
    code: 'invalid-argument',
    message: `--task is 7; job "nightly" has ${tasks}.`,
  });
});

test('other errors are returned unchanged', () => {
  const others = [
    new SynclineError('not-found', 'nothing is at /api/jobs/nightly'),
    new SynclineError('unavailable', 'there is no job service'),
    new Error('there is no job'),
  ];
  for (const other of others) expect(toCliError(other, 'nightly')).toBe(other);
});

test('the warning names the known tags, so that a typo is obvious', () => {
  const start = '🟡 No task has written tag "ingst", and it is not expected.';
  expect(unknownTagText('ingst', ['ingest', 'report'])).toBe(
    `${start} Known tags: ingest, report.`,
  );
  expect(unknownTagText('ingst', [])).toBe(`${start} The job has no tags yet.`);
  const many = Array.from({ length: 25 }, (_, at) => `t${at}`);
  expect(unknownTagText('ingst', many)).toMatch(/ t19 and 5 more\.$/);
});

test('control characters in names are escaped', () => {
  expect(unknownTagText('a\u001b[2J', ['b\u001b[2J'])).not.toContain('\u001b');
});
