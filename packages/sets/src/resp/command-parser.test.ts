import { readFileSync } from 'node:fs';
import { createSeededRandom } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { setsLimits } from '../limits.js';
import { CommandParser } from './command-parser.js';
import { protocolFailures } from './protocol-failure.js';
import { readCommandVectors } from './testing/command-vectors.js';
import { type ParseOptions, parseInChunks } from './testing/parse-in-chunks.js';
import { parsePlainly } from './testing/plain-parser.js';

const file = new URL('../../testdata/resp-commands.txt', import.meta.url);
const vectors = readCommandVectors(readFileSync(file, 'utf8'));
const limits: ParseOptions = {
  lineBytesMax: setsLimits.lineBytesMax.value,
  argumentsMax: setsLimits.argumentsMax.value,
  bulkBytesMax: setsLimits.bulkBytesMax.value,
  commandBytesMax: setsLimits.commandBytesMax.value,
  unauthenticatedArgumentsMax: setsLimits.unauthenticatedArgumentsMax.value,
  unauthenticatedBulkBytesMax: setsLimits.unauthenticatedBulkBytesMax.value,
  isUnauthenticated: false,
};

describe('S14 vectors', () => {
  test.each(vectors)('$name', ({ bytes, commands, failure, isMidCommand }) => {
    const whole = parseInChunks(bytes, [], limits);
    expect(whole).toEqual({ commands, failure: whole.failure, isMidCommand });
    expect(failureOf(bytes)).toBe(failure);
    expect(parsePlainly(Buffer.from(bytes).toString('latin1'), limits)).toEqual(whole);
    const everywhere = Array.from(bytes, (_, index) => index);
    expect(parseInChunks(bytes, everywhere, limits)).toEqual(whole);
    const random = createSeededRandom('cuts');
    for (let run = 0; run < 20; run += 1) {
      const cuts = everywhere.filter(() => random.float() < 0.2);
      expect(parseInChunks(bytes, cuts, limits)).toEqual(whole);
    }
  });

  test('they include every kind of failure except those of length and authentication', () => {
    const found = new Set(vectors.map(({ bytes }) => parseInChunks(bytes, [], limits).failure));
    const others = Object.keys(protocolFailures).filter(
      (kind) => !kind.endsWith('too-long') && !kind.startsWith('unauthenticated'),
    );
    expect([...found].filter((kind) => kind !== undefined).sort()).toEqual(others.sort());
  });
});

describe('S14 limits, at n and at n + 1', () => {
  const bulk = (size: number) => `$${size}\r\n${'x'.repeat(size)}\r\n`;
  const unauthenticated = { ...limits, isUnauthenticated: true };
  const small = { ...limits, commandBytesMax: 31 };
  const cases: [string, string, string, ParseOptions][] = [
    ['inline-too-long', 'x'.repeat(65_536), 'x'.repeat(65_537), limits],
    ['inline-too-long', `${'x'.repeat(65_536)}\n`, `${'x'.repeat(65_537)}\n`, limits],
    ['count-line-too-long', `*${'1'.repeat(65_535)}`, `*${'1'.repeat(65_536)}`, limits],
    ['bulk-line-too-long', `*1\r\n$${'1'.repeat(65_535)}`, `*1\r\n$${'1'.repeat(65_536)}`, limits],
    ['multibulk-length', '*1048576\r\n', '*1048577\r\n', limits],
    ['bulk-length', `*1\r\n${bulk(1_048_576)}`, `*1\r\n${bulk(1_048_577)}`, limits],
    ['bulk-length', `*2\r\n${bulk(10)}${bulk(4)}`, `*2\r\n${bulk(10)}${bulk(5)}`, small],
    ['unauthenticated-arguments', `*10\r\n${bulk(4)}`, `*11\r\n${bulk(4)}`, unauthenticated],
    [
      'unauthenticated-arguments',
      `*9\r\n${bulk(4)}`,
      '*10\r\n',
      { ...unauthenticated, unauthenticatedArgumentsMax: 9 },
    ],
    ['unauthenticated-bulk', `*1\r\n${bulk(16_384)}`, `*1\r\n${bulk(16_385)}`, unauthenticated],
    [
      'unauthenticated-bulk',
      `*1\r\n${bulk(8)}`,
      '*1\r\n$9\r\n',
      { ...unauthenticated, unauthenticatedBulkBytesMax: 8 },
    ],
  ];
  test.each(cases)('%s', (kind, within, beyond, options) => {
    for (const cut of [[], [3], [5, 7]]) {
      expect(parseInChunks(Buffer.from(within), cut, options).failure).toBeUndefined();
      const found = parseInChunks(Buffer.from(beyond), cut, options);
      expect(found).toEqual({ commands: [], failure: kind, isMidCommand: false });
    }
  });
});

test('S14 a client that has authenticated by the second command may send more', () => {
  const parser = new CommandParser();
  parser.isUnauthenticated = true;
  parser.feed(Buffer.from(`AUTH x\r\n*11\r\n${'$1\r\na\r\n'.repeat(11)}`));
  expect(parser.next()).toBe('command');
  parser.isUnauthenticated = false;
  expect(parser.next()).toBe('command');
  expect(parser.args.length).toBe(11);
});

test('a complete command is read in place; an incomplete one is gathered, and what follows it is not', () => {
  const parser = new CommandParser();
  const first = Buffer.from('*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nEC');
  parser.feed(first);
  expect(parser.next()).toBe('command');
  expect(parser.args.buffer).toBe(first);
  expect(parser.next()).toBe('more');
  expect([parser.isMidCommand, parser.isChunkRead]).toEqual([true, true]);
  const second = Buffer.from('HO\r\n$1\r\na\r\n*1\r\n$4\r\nPING\r\n');
  parser.feed(second);
  expect(parser.next()).toBe('command');
  expect([parser.args.text(0), parser.args.text(1)]).toEqual(['ECHO', 'a']);
  expect(parser.args.buffer).not.toBe(second);
  expect(parser.next()).toBe('command');
  expect(parser.args.buffer).toBe(second);
  expect([parser.next(), parser.isMidCommand]).toEqual(['more', false]);
});

test('S14 a long command is gathered from pieces of any size, while its buffer grows', () => {
  const words = Array.from({ length: 200 }, (_, index) => `word ${index}`.repeat(1 + (index % 9)));
  const bulks = words.map((word) => `$${word.length}\r\n${word}\r\n`);
  const bytes = Buffer.from(`*${words.length}\r\n${bulks.join('')}PING\r\n`);
  for (const size of [1, 7, 100, 1_000]) {
    const cuts = Array.from(
      { length: Math.floor(bytes.length / size) },
      (_, index) => index * size,
    );
    const found = parseInChunks(bytes, cuts, limits);
    expect(found.commands).toEqual([words, ['PING']]);
  }
});

test('S10 a declared length takes no memory', () => {
  const parser = new CommandParser();
  parser.feed(Buffer.from('*1048576\r\n$1048576\r\nabc'));
  expect(parser.next()).toBe('more');
  expect(parser.args.buffer.length).toBeLessThan(1_024);
});

test('nothing is read after a failure', () => {
  const parser = new CommandParser();
  parser.feed(Buffer.from('*x\r\nPING\r\n'));
  expect([parser.next(), parser.next()]).toEqual(['failed', 'failed']);
  parser.feed(Buffer.from('PING\r\n'));
  expect(parser.next()).toBe('failed');
});

function failureOf(bytes: Uint8Array): string | undefined {
  const parser = new CommandParser();
  parser.feed(bytes);
  while (parser.next() === 'command');
  return parser.failure?.text ?? parser.failure?.kind;
}

test('S10 the memory of a large command is released when it is over', () => {
  const parser = new CommandParser();
  const word = 'x'.repeat(500_000);
  const command = Buffer.from(`*2\r\n$4\r\nECHO\r\n$${word.length}\r\n${word}\r\n`);
  parser.feed(command.subarray(0, 300_000));
  expect(parser.next()).toBe('more');
  expect(parser.gatheredBytes).toBeGreaterThanOrEqual(300_000);
  parser.feed(command.subarray(300_000));
  expect(parser.next()).toBe('command');
  expect(parser.args.sizeOf(1)).toBe(word.length);
  expect(parser.next()).toBe('more');
  expect(parser.gatheredBytes).toBe(0);
});
