import { expect, test } from 'vitest';
import { setsLimits } from '../limits.js';
import { AHEAD_MAX } from '../memory/order-hash.js';
import { CommandParser } from './command-parser.js';

function encoded(...words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;
}

/** What is found after the first command of a chunk. */
function found(...parts: readonly string[]): readonly string[] {
  const parser = new CommandParser();
  parser.feed(Buffer.from(parts.join(''), 'latin1'));
  expect(parser.next()).toBe('command');
  const { ahead } = parser;
  const [itself, ...others] = Array.from({ length: ahead.length }, (_, at) => ahead.text(at));
  if (others.length > 0) expect(itself).toBe(parser.args.text(parser.args.length - 1));
  return others;
}

const first = encoded('SADD', 'set', 'first');

test('the next members of a pipeline on one set are found, of any length', () => {
  const long = 'x'.repeat(999);
  const members = ['', 'b', 'first', long, ...Array.from({ length: AHEAD_MAX }, String)];
  const pipeline = members.map((member) => encoded('SADD', 'set', member));
  expect(found(first, ...pipeline)).toEqual(members.slice(0, AHEAD_MAX - 1));
});

test('the search ends at the first command that differs before its last word', () => {
  const same = encoded('SADD', 'set', 'b');
  for (const other of [
    encoded('SREM', 'set', 'c'),
    encoded('SADD', 'sea', 'c'),
    encoded('SADD', 'set', 'c', 'd'),
    encoded('PING'),
    'SADD set c\r\n',
  ])
    expect(found(first, same, other, same)).toEqual(['b']);
});

test('S14 a member that looks like protocol is a member', () => {
  const words = (pipeline: string) => {
    const parser = new CommandParser();
    parser.feed(Buffer.from(pipeline, 'latin1'));
    const commands: string[][] = [];
    while (parser.next() === 'command')
      commands.push(Array.from({ length: parser.args.length }, (_, i) => parser.args.text(i)));
    return commands;
  };
  for (const hostile of ['$3\r\nabc', '$1\r\nx\r\n*1\r\n$8\r\nFLUSHALL']) {
    const harmless = `$${'a'.repeat(hostile.length - 1)}`;
    const commands = [harmless, hostile, hostile].map((member) => ['SADD', 'set', member]);
    expect(words(commands.map((each) => encoded(...each)).join(''))).toEqual(commands);
  }
});

test('a last word that may be too long for the name of a set is not found', () => {
  const long = 'x'.repeat(1_000);
  expect(long.length - 1).toBeLessThan(setsLimits.keyBytesMax.value);
  expect(found(first, encoded('SADD', 'set', long))).toEqual([]);
});

test('a member that has not arrived in full is not found', () => {
  const next = encoded('SADD', 'set', 'b');
  for (let bytes = 0; bytes < next.length; bytes += 1)
    expect(found(first, next.slice(0, bytes))).toEqual([]);
  expect(found(first, next)).toEqual(['b']);
});

test('a length or a line end that is wrong finds nothing', () => {
  const head = encoded('SADD', 'set', '').slice(0, -'0\r\n\r\n'.length);
  const lengths = [
    '-1',
    '\r',
    '',
    '99999',
    '9999',
    '/',
    '\xff\xff\xff\xff',
    '+1',
    '01',
    '00',
    '0001',
  ];
  for (const length of lengths) expect(found(first, `${head}${length}\r\nb\r\n`)).toEqual([]);
  for (const rest of ['1\r\nbc\n', '1\r\nb\rc', '1\n\nb\r\n', '1\rxb\r\n', '0\r\nb\r\n'])
    expect(found(first, `${head}${rest}`)).toEqual([]);
});

test('S14 repeated commands are parsed like any others, even if their arguments or the rest of the chunk were copied', () => {
  const members = Array.from({ length: 100 }, (_, index) => 'm'.repeat(index % 12) + index);
  const pipeline = members.map((member) => encoded('SADD', 'set', member)).join('');
  for (const every of [1, 2, 7, 1_000]) {
    const parser = new CommandParser();
    parser.feed(Buffer.from(pipeline + encoded('PING'), 'latin1'), true);
    for (const [index, member] of members.entries()) {
      expect(parser.next()).toBe('command');
      expect(parser.commandBytes).toBe(encoded('SADD', 'set', member).length);
      if (index % every === 1) parser.args.own();
      expect([0, 1, 2].map((word) => parser.args.text(word))).toEqual(['SADD', 'set', member]);
      if (index % every === 3) parser.keepRest();
    }
    expect(parser.next()).toBe('command');
    expect(parser.args.text(0)).toBe('PING');
    expect(parser.next()).toBe('more');
    expect(parser.isChunkRead).toBe(true);
  }
});

test('nothing is found after a command that arrived in pieces', () => {
  const parser = new CommandParser();
  parser.feed(Buffer.from(first.slice(0, 9), 'latin1'));
  expect(parser.next()).toBe('more');
  parser.feed(Buffer.from(first.slice(9) + first, 'latin1'));
  expect(parser.next()).toBe('command');
  expect(parser.ahead.length).toBe(0);
});

test('nothing is found after an inline command', () => {
  const inline = 'SADD set first\r\n';
  expect(found(inline, inline, first)).toEqual([]);
  const parser = new CommandParser();
  parser.feed(Buffer.from(first + inline.repeat(9) + first, 'latin1'));
  while (parser.next() === 'command') expect(parser.ahead.length).toBe(0);
});
