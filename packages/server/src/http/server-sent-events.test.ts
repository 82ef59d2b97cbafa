import { expect, test } from 'vitest';
import { formatEvent } from './server-sent-events.js';

test('an event consists of its name, its id and one line of JSON', () => {
  expect(formatEvent({ event: 'change', id: 'a:7', data: { text: 'one\ntwo' } })).toBe(
    'event: change\nid: a:7\ndata: {"text":"one\\ntwo"}\n\n',
  );
  expect(formatEvent({ event: 'live', data: null })).toBe('event: live\ndata: null\n\n');
});

test('a line break in a name or id cannot start another field', () => {
  expect(formatEvent({ event: 'a\ndata: evil', id: '1\r\n\r\nevent: b', data: 1 })).toBe(
    'event: a\nid: 1\ndata: 1\n\n',
  );
});
