import { expect, test } from 'vitest';
import { cliLimits } from '../limits.js';
import { EventParser } from './follow-job.js';

const STREAM =
  'event: snapshot\nid: 1:2~\ndata: {"a":"🟢"}\n\n:\n\nevent: live\r\ndata: 2\r\n\r\ndata: 3\ndata:4\n\nevent: bare\n\n';
const EVENTS = ['{"a":"🟢"}', '2', '3\n4'];

test('whole', () => {
  expect(new EventParser().feed(STREAM)).toEqual(EVENTS);
});

test('character by character', () => {
  const parser = new EventParser();
  expect([...STREAM].flatMap((character) => parser.feed(character))).toEqual(EVENTS);
});

test('cut anywhere in two', () => {
  for (let at = 0; at <= STREAM.length; at += 1) {
    const parser = new EventParser();
    const items = [...parser.feed(STREAM.slice(0, at)), ...parser.feed(STREAM.slice(at))];
    expect(items).toEqual(EVENTS);
  }
});

test('an event without an end is given up', () => {
  const parser = new EventParser();
  const { value: most } = cliLimits.eventBytesMax;
  expect(parser.feed('x'.repeat(most))).toEqual([]);
  expect(() => parser.feed('x')).toThrow('too large to come from Syncline');
});
