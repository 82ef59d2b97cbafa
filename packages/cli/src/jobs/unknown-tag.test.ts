import { expect, test } from 'vitest';
import { unknownTagText } from './unknown-tag.js';

test('the tags that are there are named, so that a typo is seen', () => {
  const start = '🟡 No task has written tag "ingst", and it is not expected.';
  expect(unknownTagText('ingst', ['ingest', 'report'])).toBe(`${start} There are: ingest, report.`);
  expect(unknownTagText('ingst', [])).toBe(`${start} There is no tag yet.`);
  const many = Array.from({ length: 25 }, (_, at) => `t${at}`);
  expect(unknownTagText('ingst', many)).toMatch(/ t19 and 5 more\.$/);
});

test('no name steers the terminal', () => {
  expect(unknownTagText('a\u001b[2J', ['b\u001b[2J'])).not.toContain('\u001b');
});
