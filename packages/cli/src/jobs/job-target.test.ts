import { SynclineError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { toCliError, unknownTagError, unknownTagText } from './job-target.js';

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

test('the warning and the error name the known tags, so that a typo is obvious', () => {
  const many = Array.from({ length: 25 }, (_, at) => `t${at}`);
  const warn = (known: readonly string[]) => unknownTagText({ tag: 'ingst', known });
  const start = '🟡 No task has written tag "ingst", and it is not expected.';
  expect(warn(['ingest', 'report'])).toBe(`${start} Known tags: ingest, report.`);
  expect(warn([])).toBe(`${start} The job has no tags yet.`);
  expect(warn(many)).toMatch(/ t19 and 5 more\.$/);
  const refuse = (known: readonly string[]) => unknownTagError('nightly', { tag: 'ingst', known });
  const what = 'no task of job "nightly" has written tag "ingst", and it is not expected;';
  expect(refuse(['ingest', 'report']).message).toBe(`${what} known tags: ingest, report.`);
  expect(refuse([]).message).toBe(`${what} the job has no tags yet.`);
});

test('control characters in names are escaped', () => {
  const unknown = { tag: 'a\u001b[2J', known: ['b\u001b[2J'] };
  expect(unknownTagText(unknown)).not.toContain('\u001b');
  expect(unknownTagError('j', unknown).message).not.toContain('\u001b');
});
