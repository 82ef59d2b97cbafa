import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import type { Reply } from './reply-writer.js';
import { ReplyWriter } from './reply-writer.js';

function writerFor(protocol: 2 | 3): ReplyWriter {
  return new ReplyWriter({ protocol }, () => undefined);
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

const cases: [string, (reply: Reply) => void, string, string?][] = [
  ['a small integer', (reply) => reply.integer(1), ':1\r\n'],
  ['a large integer', (reply) => reply.integer(2 ** 53 - 1), ':9007199254740991\r\n'],
  ['a negative integer', (reply) => reply.integer(-2), ':-2\r\n'],
  ['bytes', (reply) => reply.bulk(Buffer.from('abcd'), 1, 3), '$2\r\nbc\r\n'],
  ['an item', (reply) => reply.bulkOf(ByteList.of(Buffer.from('a')), 0), '$1\r\na\r\n'],
  ['no bytes', (reply) => reply.bulkText(''), '$0\r\n\r\n'],
  ['text is one byte per character', (reply) => reply.bulkText('é'), '$1\r\n\xe9\r\n'],
  ['a status', (reply) => reply.simple('OK'), '+OK\r\n'],
  ['an error', (reply) => reply.error('ERR a\r\nb\nc'), '-ERR a  b c\r\n'],
  ['no value', (reply) => reply.nullBulk(), '$-1\r\n', '_\r\n'],
  ['no list', (reply) => reply.nullArray(), '*-1\r\n', '_\r\n'],
  ['a list', (reply) => reply.array(12), '*12\r\n'],
  ['a set', (reply) => reply.set(3), '*3\r\n', '~3\r\n'],
  ['a map', (reply) => reply.map(2), '*4\r\n', '%2\r\n'],
  ['verbatim text', (reply) => reply.verbatim('ab'), '$2\r\nab\r\n', '=6\r\ntxt:ab\r\n'],
  ['raw bytes', (reply) => reply.raw(Buffer.from('+QUEUED\r\n')), '+QUEUED\r\n'],
];

function taken(writer: ReplyWriter): string {
  writer.complete(true, false);
  return text(writer.take().bytes);
}

test.each(cases)('%s', (_name, write, two, three = two) => {
  for (const [protocol, expected] of [[2, two] as const, [3, three] as const]) {
    const writer = writerFor(protocol);
    for (let repeat = 0; repeat < 50; repeat += 1) write(writer);
    expect(taken(writer)).toBe(expected.repeat(50));
  }
});

test('every pre-encoded integer is right', () => {
  for (let value = -3; value <= 10_001; value += 1) {
    const writer = writerFor(2);
    writer.integer(value);
    expect(taken(writer)).toBe(`:${value}\r\n`);
  }
});

test('bytes of every size are copied completely', () => {
  const bytes = Buffer.alloc(300, 'ab');
  for (let size = 0; size <= 300; size += 1) {
    const writer = writerFor(2);
    writer.bulk(bytes, 0, size);
    expect(taken(writer)).toBe(`$${size}\r\n${text(bytes.subarray(0, size))}\r\n`);
  }
});

test('what was taken does not change any more, and what follows it stays', () => {
  const writer = writerFor(2);
  writer.simple('a');
  writer.complete(true, false);
  writer.simple('b');
  const first = writer.take();
  writer.simple('c');
  writer.complete(true, false);
  const second = writer.take();
  writer.simple('d');
  expect([first, second].map(({ bytes }) => text(bytes))).toEqual(['+a\r\n', '+b\r\n+c\r\n']);
});

test('it can rewind to a mark as long as nothing after it was taken', () => {
  const writer = writerFor(2);
  writer.simple('a');
  const mark = writer.mark();
  writer.simple('b');
  expect(writer.rewind(mark)).toBe(true);
  writer.simple('c');
  expect(taken(writer)).toBe('+a\r\n+c\r\n');
  expect(writer.rewind(mark)).toBe(false);
  const later = writer.mark();
  writer.simple('d');
  expect(writer.rewind(later)).toBe(true);
  expect(writer.length).toBe(0);
});
